"""What peers that are not authenticated may have, and who of them gives way: shared by network and by age."""

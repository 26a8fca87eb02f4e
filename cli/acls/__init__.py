"""`stepdown acls`: takes access rules, and prints the rules that a broker lists, adds or removes."""

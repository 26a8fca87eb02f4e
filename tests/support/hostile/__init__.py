"""What one client may send at the cost of others: the bytes, the clients as processes, the rows of the table in
docs/limits.md. Tests and bench/questions/noisy_client.py run the same.
"""

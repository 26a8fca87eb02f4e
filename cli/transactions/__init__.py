"""`stepdown transactions`: lists, describes and aborts transactions by their transactional ids."""

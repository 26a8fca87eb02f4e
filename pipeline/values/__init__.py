"""Values as JSON text: Avro, protobuf or JSON bytes and their schemas come in, text or the reason why not goes out.

The driver reads options and schemas (`options.py`, `schemas.py`, `registry.py`); tasks decode with them, by
`values_to_json.py` and one module a format. Schemas need the extra `values`.
"""

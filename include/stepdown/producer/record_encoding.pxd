# The layout of producer/record_encoding.py in C.


cpdef long long most_bytes(Py_ssize_t key_size, Py_ssize_t value_size, Py_ssize_t headers_size) noexcept
cpdef bytes encode_headers(headers)

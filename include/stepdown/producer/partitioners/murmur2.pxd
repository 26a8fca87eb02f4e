# The layout of producer/partitioners/murmur2.py in C.


cpdef Py_ssize_t partition_for_key(bytes key, Py_ssize_t partitions) except -1
cpdef unsigned long long murmur2(bytes key) noexcept

"""What a converted slice is on the wire, chunk by chunk: what sending it in any other way is held against."""

from stepdown.storage.downconversion.converted_slice import ConvertedSlice


def by_chunks(lazily: ConvertedSlice) -> bytes:
    chunks, sent = lazily.chunks(), bytearray()
    while left := lazily.size_bytes - len(sent):
        made = chunks.make(bytearray(chunks.buffer_bytes))
        if made is not None:
            sent += made[:left]
            chunks.advance()
    return bytes(sent)

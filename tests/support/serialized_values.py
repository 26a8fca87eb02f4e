"""Schemas and values for the tests of decoding, and what Confluent's own serializers make of them."""

import json
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, message_factory, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from .schema_registry import SchemaRegistry

MONEY = json.dumps(
    {
        "type": "record",
        "name": "shop.Money",
        "fields": [
            {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "SEK"]}},
        ],
    }
)
ORDER = json.dumps(
    {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "price", "type": "shop.Money"},
            {"name": "raw", "type": "bytes"},
            {"name": "weights", "type": {"type": "array", "items": "double"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "more", "type": {"type": "map", "values": "shop.Money"}},
        ],
    }
)
INLINE_ORDER = ORDER.replace('"price", "type": "shop.Money"', f'"price", "type": {MONEY}')

PERSON = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Person",
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name"],
    }
)


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def client(registry: SchemaRegistry) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


def avro_serializer(registry: SchemaRegistry) -> AvroSerializer:
    """Of ORDER, which refers to MONEY."""
    registry.register("money", MONEY)
    return AvroSerializer(client(registry), Schema(ORDER, "AVRO", [SchemaReference("shop.Money", "money", 1)]))


def json_serializer(registry: SchemaRegistry) -> JSONSerializer:
    return JSONSerializer(PERSON, client(registry))


def protobuf_serializer(registry: SchemaRegistry, message: Any) -> ProtobufSerializer:
    return ProtobufSerializer(message, client(registry), {"use.deprecated.format": False})


def protobuf_files() -> descriptor_pb2.FileDescriptorSet:
    """money.proto and event.proto, which imports it and Google's timestamp, as `protoc --descriptor_set_out` does.

    message Money { int64 cents = 1; string currency = 2; }
    message Other { bool flag = 1; }
    message Event {
      message Line { string text = 1; double weight = 2; }
      Money price = 1; repeated Line lines = 2; google.protobuf.Timestamp at = 3; bytes raw = 4;
    }
    """
    field = descriptor_pb2.FieldDescriptorProto
    files = descriptor_pb2.FileDescriptorSet()
    files.file.add().ParseFromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    money = files.file.add(name="money.proto", package="shop", syntax="proto3").message_type.add(name="Money")
    money.field.add(name="cents", number=1, type=field.TYPE_INT64, label=field.LABEL_OPTIONAL)
    money.field.add(name="currency", number=2, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    event_file = files.file.add(name="event.proto", package="shop", syntax="proto3")
    event_file.dependency.extend(["money.proto", "google/protobuf/timestamp.proto"])
    other = event_file.message_type.add(name="Other")
    other.field.add(name="flag", number=1, type=field.TYPE_BOOL, label=field.LABEL_OPTIONAL)
    event = event_file.message_type.add(name="Event")
    line = event.nested_type.add(name="Line")
    line.field.add(name="text", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    line.field.add(name="weight", number=2, type=field.TYPE_DOUBLE, label=field.LABEL_OPTIONAL)
    of = {"type": field.TYPE_MESSAGE, "label": field.LABEL_OPTIONAL}
    event.field.add(name="price", number=1, type_name=".shop.Money", **of)
    event.field.add(
        name="lines", number=2, type=field.TYPE_MESSAGE, label=field.LABEL_REPEATED, type_name=".shop.Event.Line"
    )
    event.field.add(name="at", number=3, type_name=".google.protobuf.Timestamp", **of)
    event.field.add(name="raw", number=4, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    return files


def protobuf_classes() -> dict[str, Any]:
    """The classes of the messages of `protobuf_files`, by name."""
    pool = DescriptorPool()
    for file in protobuf_files().file:
        pool.AddSerializedFile(file.SerializeToString())
    names = ("shop.Money", "shop.Other", "shop.Event", "shop.Event.Line")
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}

"""As much of JSON Schema as docs/result.schema.json uses.

SPDX-License-Identifier: BSD-3-Clause
"""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "required", "additionalProperties", "properties",
         "const", "enum", "minimum", "anyOf", "items", "$ref", "$defs"}


def fits_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def check_object(value, schema, root, where):
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}: {name} is missing"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, inner in value.items():
        if name in properties:
            yield from findings(inner, properties[name], root, f"{where}.{name}")
        elif others is False:
            yield f"{where}: {name} is not in the schema"
        elif others is not True:
            yield from findings(inner, others, root, f"{where}.{name}")


def findings(value, schema, root=None, where="$"):
    """What in `value` is not as the schema says."""
    root = root or schema
    unknown = set(schema) - KNOWN
    assert not unknown, f"keywords that this check does not know: {unknown}"
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value} is none of {schema['enum']}"
    if "type" in schema and not fits_type(value, schema["type"]):
        yield f"{where}: {value!r} is no {schema['type']}"
        return
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: {value} is below {schema['minimum']}"
    if "anyOf" in schema:
        tried = [list(findings(value, one, root, where)) for one in schema["anyOf"]]
        if all(tried):
            yield min(tried, key=len)[0]
    if isinstance(value, dict):
        yield from check_object(value, schema, root, where)
    for number, item in enumerate(value if isinstance(value, list) and "items" in schema else ()):
        yield from findings(item, schema["items"], root, f"{where}[{number}]")

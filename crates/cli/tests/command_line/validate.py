"""Checks reports with what others wrote: validate.py REPORT_SCHEMA SARIF_SCHEMA FILE...

A field that our schema does not know is an error here, so that the schema stays complete; programs
that read reports must expect new ones.
"""

import json
import sys

import jsonschema
import junitparser


def forbid_unknown(schema):
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, (dict, list)):
            forbid_unknown(part)
    if isinstance(schema, dict) and "properties" in schema:
        schema.setdefault("additionalProperties", False)


def main(report_schema, sarif_schema, *files):
    with open(report_schema) as file:
        ours = json.load(file)
    forbid_unknown(ours)
    jsonschema.Draft202012Validator.check_schema(ours)
    with open(sarif_schema) as file:
        sarif = json.load(file)
    for name in files:
        if name.endswith(".xml"):
            suites = junitparser.JUnitXml.fromfile(name)
            cases = [case for suite in suites for case in suite]
            assert suites.tests == len(cases), name
            failures = [c for c in cases for r in c.result if isinstance(r, junitparser.Failure)]
            assert suites.failures == len(failures), name
            print(name, len(cases), "tests", len(failures), "failures")
            continue
        with open(name) as file:
            document = json.load(file)
        is_sarif = name.endswith(".sarif")
        jsonschema.validate(document, sarif if is_sarif else ours)
        print(name, "is valid")


main(*sys.argv[1:])

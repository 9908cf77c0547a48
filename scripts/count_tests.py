"""Fail where a JUnit report says that no test ran.

Usage: python scripts/count_tests.py REPORT
"""

from __future__ import annotations

import sys
from xml.etree import ElementTree


def count_ran(report: str) -> int:
    """Count the tests of a report that were not skipped."""
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    return sum(int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) for suite in suites)


def main() -> int:
    n_ran = count_ran(sys.argv[1])
    print(f"{n_ran} tests ran")
    return 0 if n_ran > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes titan/data/testdata/rows.parquet, the file of parquet_test.cpp (needs pyarrow).

Usage: make_parquet_vectors.py OUT.parquet
"""
import datetime
import sys

import pyarrow
import pyarrow.parquet

message = pyarrow.struct([("role", pyarrow.string()), ("content", pyarrow.string()), ("calls", pyarrow.int64())])
user = {"role": "user", "content": "q", "calls": None}
answer = {"role": "assistant", "content": "a", "calls": 3}
table = pyarrow.table({
    "text": ["one", 'zw\u00f6lf\n"3"', ""],
    "number": pyarrow.array([1.5, None, -2.0], pyarrow.float64()),
    "flag": [True, False, None],
    "large": pyarrow.array([["a", "b"], [], None], pyarrow.large_list(pyarrow.large_string())),
    "messages": pyarrow.array([[user, answer], [answer], [user, user, answer]], pyarrow.list_(message)),
    "day": [datetime.date(2020, 1, 1)] * 3,
})
pyarrow.parquet.write_table(table, sys.argv[1], row_group_size=2, compression="snappy", store_schema=True)

"""Measurement: quality from many decodes at once, speed from single runs, both stored per problem.

Rows of a problem are facts; every figure that people see is computed from them (`sdiff.bench.points`).
"""

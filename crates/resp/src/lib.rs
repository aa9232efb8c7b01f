//! A server that speaks RESP2 and RESP3: the time-series commands (`docs/timeseries.md`), and what clients send besides.

#!/usr/bin/env python3
"""Independent decoder for data objects, written from dataobj-format.md only.

usage: decode_dataobj.py FILE.dataobj [--rows] [--json] [--check EXPECTED.json]

--json prints everything that the object says and holds, as crates/dataobj/tests/fixtures/README.md describes.
"""
import ctypes, hashlib, json, struct, sys

# ------------------------------------------------------------------ varints
def uvarint(b, i):
    x = s = 0
    while True:
        c = b[i]; i += 1
        x |= (c & 0x7F) << s
        if c < 0x80:
            return x & 0xFFFFFFFFFFFFFFFF, i
        s += 7

def svarint(b, i):
    u, i = uvarint(b, i)
    return (u >> 1) ^ -(u & 1), i

# ------------------------------------------------------------------ protobuf
def pb(b):
    """-> dict field -> list of ints / bytes"""
    out, i = {}, 0
    while i < len(b):
        tag, i = uvarint(b, i)
        f, w = tag >> 3, tag & 7
        if w == 0:
            v, i = uvarint(b, i)
        elif w == 2:
            n, i = uvarint(b, i); v = b[i:i + n]
            assert len(v) == n; i += n
        elif w == 1:
            v = b[i:i + 8]; i += 8
        elif w == 5:
            v = b[i:i + 4]; i += 4
        else:
            raise ValueError("wire type %d" % w)
        out.setdefault(f, []).append(v)
    return out

def framed(b, i=0):
    n, i = uvarint(b, i)
    m = b[i:i + n]
    assert len(m) == n
    return pb(m), i + n

def num(m, f, d=0): return m[f][-1] if f in m else d
def sub(m, f): return pb(m[f][-1]) if f in m else None
def strs(m, f): return [x.decode() for x in m.get(f, [])]

# ------------------------------------------------------------------ crc32c
_T = []
for _n in range(256):
    _c = _n
    for _ in range(8):
        _c = (_c >> 1) ^ (0x82F63B78 if _c & 1 else 0)
    _T.append(_c)

def crc32c(b):
    c = 0xFFFFFFFF
    for x in b:
        c = _T[(c ^ x) & 0xFF] ^ (c >> 8)
    return c ^ 0xFFFFFFFF

# ------------------------------------------------------------------ codecs
_z = ctypes.CDLL("libzstd.so.1")
_z.ZSTD_decompress.restype = ctypes.c_size_t
_z.ZSTD_isError.restype = ctypes.c_uint

def unzstd(b, size):
    if len(b) == 0:
        return b""
    buf = ctypes.create_string_buffer(max(size, 1))
    n = _z.ZSTD_decompress(buf, ctypes.c_size_t(size), bytes(b), ctypes.c_size_t(len(b)))
    assert not _z.ZSTD_isError(ctypes.c_size_t(n)), "zstd"
    return buf.raw[:n]

def unsnappy_block(b):
    n, i = uvarint(b, 0)
    o = bytearray()
    while i < len(b):
        t = b[i]; i += 1
        k = t & 3
        if k == 0:
            ln = t >> 2
            if ln >= 60:
                w = ln - 59
                ln = int.from_bytes(b[i:i + w], "little"); i += w
            ln += 1
            o += b[i:i + ln]; i += ln
            continue
        if k == 1:
            ln = ((t >> 2) & 7) + 4
            off = ((t >> 5) << 8) | b[i]; i += 1
        elif k == 2:
            ln = (t >> 2) + 1
            off = int.from_bytes(b[i:i + 2], "little"); i += 2
        else:
            ln = (t >> 2) + 1
            off = int.from_bytes(b[i:i + 4], "little"); i += 4
        for _ in range(ln):
            o.append(o[-off])
    assert len(o) == n
    return bytes(o)

def unsnappy_framed(b):
    o, i = b"", 0
    while i < len(b):
        t = b[i]; n = int.from_bytes(b[i + 1:i + 4], "little"); i += 4
        body = b[i:i + n]; i += n
        if t == 0xFF:
            assert body == b"sNaPpY"
        elif t in (0, 1):
            want = struct.unpack("<I", body[:4])[0]
            d = unsnappy_block(body[4:]) if t == 0 else bytes(body[4:])
            c = crc32c(d)
            assert (((c >> 15) | (c << 17)) + 0xA282EAD8) & 0xFFFFFFFF == want
            o += d
        else:
            assert t >= 0x80, "unskippable chunk"
    return o

# ------------------------------------------------------------------ encodings
def decode_bitmap(b, count):
    out, i = [], 0
    while len(out) < count:
        h, i = uvarint(b, i)
        if h & 1:
            width, groups = ((h >> 1) & 0x3F) + 1, h >> 7
            for _ in range(groups):
                v = int.from_bytes(b[i:i + width], "little"); i += width
                for k in range(8):
                    out.append((v >> (k * width)) & ((1 << width) - 1))
        else:
            v, i = uvarint(b, i)
            out += [v] * (h >> 1)
    assert i == len(b) and len(out) == count, (i, len(b), len(out), count)
    return out

def decode_delta(b, count):
    out, i, prev = [], 0, 0
    for _ in range(count):
        d, i = svarint(b, i)
        prev = (prev + d + (1 << 63)) % (1 << 64) - (1 << 63)
        out.append(prev)
    assert i == len(b)
    return out

def decode_plain(b, count):
    out, i = [], 0
    for _ in range(count):
        n, i = uvarint(b, i)
        out.append(bytes(b[i:i + n])); i += n
    assert i == len(b)
    return out

COMP = {0: "unspecified", 1: "none", 2: "snappy", 3: "zstd"}
ENC = {1: "plain", 2: "delta", 3: "bitmap"}
PHYS = {1: "int64", 2: "uint64", 3: "binary"}

def split_page(raw):
    n, i = uvarint(raw, 0)
    return raw[:i], raw[i:i + n], raw[i + n:]

def decode_page(raw, page, comp, phys):
    assert crc32c(raw) == page["crc32"], "page checksum"
    head, presence, body = split_page(raw)
    inner = page["uncompressed_size"] - len(head) - len(presence)
    if comp == 3:
        body = unzstd(body, inner)
    elif comp == 2:
        body = unsnappy_framed(body)
    else:
        assert comp in (0, 1)
    assert len(body) == inner, (len(body), inner)
    bits = decode_bitmap(presence, page["rows_count"])
    n = sum(bits)
    assert n == page["values_count"]
    if (phys, page["enc"]) == (1, 2):
        vals = decode_delta(body, n)
    elif (phys, page["enc"]) == (3, 1):
        vals = decode_plain(body, n)
    else:
        raise ValueError("no codec for %s/%s" % (phys, page["enc"]))
    it = iter(vals)
    return [next(it) if x else None for x in bits]

def stat_value(b):
    if not b:
        return None
    t, i = uvarint(b, 0)
    if t == 1: return svarint(b, i)[0]
    if t == 2: return uvarint(b, i)[0]
    if t == 3: return bytes(b[i:])
    raise ValueError("stat type %d" % t)

# ------------------------------------------------------------------ objects
class Obj:
    def __init__(self, data):
        self.data = data
        assert data[:4] == b"DOBJ" and data[-4:] == b"DOBJ"
        msize = struct.unpack("<I", data[4:8])[0]
        ver, i = uvarint(data, 8)
        assert ver == 1
        md, end = framed(data, i)
        assert end == 8 + msize
        self.body = end
        self.strings = strs(md, 2)
        self.kinds_raw = md.get(3, [])
        kinds = []
        for k in self.kinds_raw:
            m = pb(k); nm = sub(m, 1)
            kinds.append(None if nm is None else (self.strings[num(nm, 1)], self.strings[num(nm, 2)], num(m, 2)))
        self.sections = [Section(self, s, kinds) for s in md.get(1, [])]

class Section:
    def __init__(self, o, raw, kinds):
        m = pb(raw)
        lay = sub(m, 4)
        ext = lambda r: (num(r, 1), num(r, 2))
        self.data_region, self.meta_region = ext(sub(lay, 1) or {}), ext(sub(lay, 2) or {})
        self.type_ref = num(m, 5)
        self.ns, self.kind, self.version = kinds[self.type_ref]
        self.extension = bytes(num(m, 6, b""))
        self.tenant = o.strings[num(m, 7)]
        take = lambda r: o.data[o.body + r[0]:o.body + r[0] + r[1]]
        self.data, self.meta = take(self.data_region), take(self.meta_region)
        loc, _ = framed(self.extension)
        off, ln = num(loc, 1), num(loc, 2)
        self.md_span = (off, ln)
        sm, e = framed(self.meta[off:off + ln])
        assert e == ln
        self.strings = strs(sm, 2)
        self.has_sort = 3 in sm
        so = sub(sm, 3) or {}
        self.sorts = [[num(pb(c), 1), num(pb(c), 2)] for c in so.get(1, [])]
        self.schema_labels = strs(so, 2)
        self.columns = [Column(self, c) for c in sm.get(1, [])]
        self.row_count = max([c.rows_count for c in self.columns], default=0)

    def table(self):
        cols = []
        for c in self.columns:
            v = c.values()
            cols.append(v + [None] * (self.row_count - len(v)))
        return [list(r) for r in zip(*cols)] if cols else []

class Column:
    def __init__(self, s, raw):
        self.s = s
        m = pb(raw)
        t = sub(m, 1)
        self.phys, self.logical = num(t, 1), s.strings[num(t, 3)]
        self.tag = s.strings[num(m, 2)]
        self.pages_count, self.rows_count, self.values_count = num(m, 3), num(m, 4), num(m, 5)
        self.comp, self.usize, self.csize = num(m, 6), num(m, 7), num(m, 8)
        self.md = (num(m, 9), num(m, 10))
        self.stats = sub(m, 11)
        cm, e = framed(s.meta[self.md[0]:self.md[0] + self.md[1]])
        assert e == self.md[1]
        self.pages = []
        for p in cm.get(1, []):
            q = pb(p)
            self.pages.append(dict(uncompressed_size=num(q, 1), compressed_size=num(q, 2), crc32=num(q, 3),
                                   rows_count=num(q, 4), values_count=num(q, 5), enc=num(q, 6),
                                   data_offset=num(q, 7), data_size=num(q, 8), stats=sub(q, 9)))
        assert len(self.pages) == self.pages_count
        assert sum(p["rows_count"] for p in self.pages) == self.rows_count
        assert sum(p["values_count"] for p in self.pages) == self.values_count

    def raw(self, p):
        return self.s.data[p["data_offset"]:p["data_offset"] + p["data_size"]]

    def values(self):
        out = []
        for p in self.pages:
            out += decode_page(self.raw(p), p, self.comp, self.phys)
        return out

# ------------------------------------------------------------------ dump
HEX = {"bloom_filter", "stream_id_bitmap", "values_bloom_filter"}

def jv(logical, v):
    if v is None or isinstance(v, int):
        return v
    if logical not in HEX:
        try:
            return v.decode()
        except UnicodeDecodeError:
            pass
    return {"hex": v.hex()}

def dump(o):
    secs = []
    for i, s in enumerate(o.sections):
        cols = []
        for c in s.columns:
            st = lambda d, f: jv(c.logical, stat_value(num(d or {}, f, b"")))
            cols.append(dict(physical=PHYS[c.phys], logical=c.logical, tag=c.tag, compression=COMP[c.comp],
                             pages_count=c.pages_count, rows_count=c.rows_count, values_count=c.values_count,
                             uncompressed_size=c.usize, compressed_size=c.csize, column_metadata=list(c.md),
                             has_statistics=c.stats is not None, min=st(c.stats, 1), max=st(c.stats, 2),
                             cardinality=num(c.stats or {}, 3),
                             pages=[dict(encoding=ENC[p["enc"]], rows_count=p["rows_count"], values_count=p["values_count"],
                                         uncompressed_size=p["uncompressed_size"], compressed_size=p["compressed_size"],
                                         crc32=p["crc32"], data_offset=p["data_offset"], data_size=p["data_size"],
                                         has_statistics=p["stats"] is not None, min=st(p["stats"], 1), max=st(p["stats"], 2))
                                    for p in c.pages]))
        rows = [[jv(c.logical, v) for c, v in zip(s.columns, r)] for r in s.table()]
        secs.append(dict(index=i, namespace=s.ns, kind=s.kind, version=s.version, tenant=s.tenant,
                         metadata_region=list(s.meta_region), data_region=list(s.data_region),
                         extension_data_hex=s.extension.hex(), dictionary=s.strings, has_sort_info=s.has_sort,
                         column_sorts=s.sorts, schema_labels=s.schema_labels, columns=cols,
                         row_count=s.row_count, rows=rows))
    return dict(size=len(o.data), sha256=hashlib.sha256(o.data).hexdigest(), body_start=o.body,
                file_dictionary=o.strings, sections=secs)

def diff(a, b, path=""):
    if type(a) is not type(b):
        return "%s: %r != %r" % (path, a, b)
    if isinstance(a, dict):
        for k in sorted(set(a) | set(b)):
            if k not in a or k not in b:
                return "%s.%s missing on one side" % (path, k)
            d = diff(a[k], b[k], path + "." + k)
            if d: return d
    elif isinstance(a, list):
        if len(a) != len(b):
            return "%s: length %d != %d" % (path, len(a), len(b))
        for i, (x, y) in enumerate(zip(a, b)):
            d = diff(x, y, "%s[%d]" % (path, i))
            if d: return d
    elif a != b:
        return "%s: %r != %r" % (path, a, b)

if __name__ == "__main__":
    o = Obj(open(sys.argv[1], "rb").read())
    got = dump(o)
    if "--check" in sys.argv:
        exp = json.load(open(sys.argv[sys.argv.index("--check") + 1]))
        exp = {k: exp[k] for k in got}
        d = diff(got, exp)
        n = sum(s["row_count"] for s in got["sections"])
        print("%-44s %s" % (sys.argv[1].rsplit("/", 1)[-1], "OK  %d sections, %d rows identical" % (len(got["sections"]), n) if not d else "DIFF " + d))
        sys.exit(1 if d else 0)
    if "--json" in sys.argv:
        json.dump(got, sys.stdout)
        sys.exit(0)
    for s in got["sections"]:
        print("== section %(index)d %(namespace)s/%(kind)s v%(version)d tenant=%(tenant)r rows=%(row_count)d sorts=%(column_sorts)s %(schema_labels)s" % s)
        print("   ", [(c["logical"] + ("/" + c["tag"] if c["tag"] else ""), c["compression"], c["pages_count"]) for c in s["columns"]])
        if "--rows" in sys.argv:
            for r in s["rows"]:
                print("   ", r)

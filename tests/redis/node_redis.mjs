// node-redis and its time-series module against the server. Arguments: port, protocol.
import assert from "node:assert/strict";
import { createClient } from "redis";
import TimeSeries from "@redis/time-series";

const [port, protocol] = process.argv.slice(2).map(Number);
const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: protocol, modules: { ts: TimeSeries.default ?? TimeSeries } });
client.on("error", (error) => {
  throw error;
});
await client.connect();
const { ts } = client;
let checked = 0;
const same = (got, want) => {
  checked++;
  assert.deepEqual(JSON.parse(JSON.stringify(got)), want);
};

await client.flushAll();
same(await ts.create("power", { RETENTION: 0, LABELS: { site: "north", kind: "power" }, DUPLICATE_POLICY: "LAST" }), "OK");
same(await ts.add("power", 1000, 1.5), 1000);
same(await ts.add("power", 3000, 3.25), 3000);
same(await ts.add("power", 2000, 0.1), 2000);
same(await ts.mAdd([{ key: "power", timestamp: 4000, value: 4 }, { key: "power", timestamp: 500, value: -1 }]), [4000, 500]);
same((await ts.range("power", "-", "+")).map(({ timestamp, value }) => [timestamp, value]), [[500, -1], [1000, 1.5], [2000, 0.1], [3000, 3.25], [4000, 4]]);
same((await ts.revRange("power", "-", "+", { COUNT: 1 })).map(({ value }) => value), [4]);
same(await ts.get("power"), { timestamp: 4000, value: 4 });
same(await ts.incrBy("count", 2, { TIMESTAMP: 1 }), 1);
same(await ts.decrBy("count", 5, { TIMESTAMP: 2 }), 2);
same(await ts.get("count"), { timestamp: 2, value: -3 });
await ts.create("hourly", { LABELS: { site: "north", kind: "hourly" } });
same(await ts.createRule("power", "hourly", "SUM", 1000), "OK");
await ts.add("power", 5000, 10);
await ts.add("power", 6000, 1);
await ts.add("power", 5500, 20);
same((await ts.range("hourly", "-", "+")).map(({ timestamp, value }) => [timestamp, value]), [[5000, 30]]);
same((await ts.range("power", 0, 3999, { AGGREGATION: { type: "MAX", timeBucket: 2000 } })).map(({ timestamp, value }) => [timestamp, value]), [[0, 1.5], [2000, 3.25]]);
same(await ts.queryIndex("site=north"), ["hourly", "power"]);
same((await ts.info("power")).totalSamples, 8);
same(Object.keys(await ts.mGet("site=north")).sort(), ["hourly", "power"]);
same(Object.keys(await ts.mRange("-", "+", "site=north")).sort(), ["hourly", "power"]);
same(await ts.deleteRule("power", "hourly"), "OK");
same(await ts.del("power", 0, 1000), 2);
same(await ts.alter("power", { LABELS: { site: "south" } }), "OK");
same(await client.multi().set("a", "1").ts.add("multi", 1, 1).exec(), ["OK", 1]);
same(await Promise.all(Array.from({ length: 2000 }, (_, i) => ts.add("many", i, i))), Array.from({ length: 2000 }, (_, i) => i));
await assert.rejects(ts.get("nothing"), /TSDB: the key does not exist/);
const scanned = [];
for await (const keys of client.scanIterator({ MATCH: "p*" })) scanned.push(...[keys].flat());
same(scanned, ["power"]);
await client.close();
console.log(`node-redis, protocol ${protocol}: ${checked + 1} checks`);

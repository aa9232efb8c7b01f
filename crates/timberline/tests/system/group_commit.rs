//! One fsync serves all requests that wait for it.

use crate::numbered::Writer;
use crate::server::Server;

const CLIENTS: u64 = 16;
const REQUESTS: u64 = 40;

#[test]
fn requests_share_fsyncs() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.client();
    let totals = || {
        (
            client.metric("timberline_wal_requests_total"),
            client.metric("timberline_wal_fsyncs_total"),
        )
    };
    let before = totals();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let client = client.clone();
            scope.spawn(move || {
                let mut writer = Writer::new("group", number, 3, 300);
                for _ in 0..REQUESTS {
                    assert_eq!(writer.push(&client, 5).unwrap(), 204);
                }
            });
        }
    });
    let after = totals();
    let (requests, fsyncs) = (after.0 - before.0, after.1 - before.1);
    let each = requests / fsyncs;
    println!("group commit: {requests} requests from {CLIENTS} clients, {fsyncs} fsyncs: {each:.2} requests per fsync");
    assert_eq!(requests, (CLIENTS * REQUESTS) as f64);
    assert!(fsyncs < requests, "{fsyncs} fsyncs for {requests} requests");
}

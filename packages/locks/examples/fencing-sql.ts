/** A holder pauses for longer than its lease, wakes, and writes. The table has seen a greater token, so its write changes no row. */
import { Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';
import Database from 'libsql';

const db = new Database(':memory:');
db.exec(`create table invoices (id integer primary key, state text, token bigint not null default 0);
  insert into invoices (id, state) values (42, 'open')`);
const write = db.prepare('update invoices set state = ?, token = ? where id = 42 and token <= ?');

/** Whether the row was written: not if a later holder of the lock has written it. */
const store = (state: string, token: number): boolean => write.run(state, token, token).changes === 1;

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mutex = new Mutex(redis, 'invoice:42', { leaseMs: 500, renew: false, prefix: 'example-sql' });

const slow = await mutex.acquire();
// `using` waits until the lease of the slow holder has ended.
await mutex.using((_signal, lease) => console.log('paid:', store('paid', lease.fencingToken)));
console.log('cancelled by the slow holder:', store('cancelled', slow.fencingToken));

console.log(db.prepare('select state, length(token) as digits from invoices').all());
db.close();
await redis.quit();

// Output:
// paid: true
// cancelled by the slow holder: false
// [ { state: 'paid', digits: 16 } ]

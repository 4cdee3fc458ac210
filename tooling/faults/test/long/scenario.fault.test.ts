/**
 * The service as a whole under traffic: two APIs, three workers, PostgreSQL, an SMTP peer, and Redis with a password. A worker is killed
 * in the middle of mails, then the Redis that has the market, then the one that has the mails.
 *
 * One server comes back with all that it had accepted, and nothing is excused. In a Cluster a replica takes the place of a dead
 * master, and what this one had accepted in its last moments may be gone, because replication is asynchronous: sales, mails and
 * messages of these moments are counted, not missed. Coins, items and locks have to add up in any case.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { KeySpace } from '@mortise/redis';
import { until } from '@mortise/test-kit';
import { AccessLogs } from '../../src/service/access-logs.js';
import { accountFor } from '../../src/service/account.js';
import { Contention } from '../../src/service/contention.js';
import { EXPECTED_ORDER, orderOfMails } from '../../src/service/mail-order.js';
import { Mailboxes } from '../../src/service/mailboxes.js';
import { CONNECTIONS, Newsletters } from '../../src/service/newsletters.js';
import type { Deployment } from '../../src/service/service.js';
import { Service } from '../../src/service/service.js';
import { Stock } from '../../src/service/stock.js';
import { Talk } from '../../src/service/talk.js';
import { Trade } from '../../src/service/trade.js';

/** Sales between one fault and the next. */
const SALES = Number(process.env['MORTISE_SCENARIO_SALES'] ?? 60);
const PHASE_MS = 120_000;

let service: Service | undefined;
let stopTraffic: (() => Promise<unknown>) | undefined;

afterEach(async () => {
  await stopTraffic?.();
  await service?.dispose();
  service = stopTraffic = undefined;
});

const DEPLOYMENTS: readonly Deployment[] = ['single', 'cluster'];

describe.each(DEPLOYMENTS)('the service on a Redis that is a %s', (deployment) => {
  test('keeps money, mails, messages, logs, locks and permits when a worker and masters are killed', async () => {
    service = await Service.start(deployment);
    const { peer, postgres, prefix } = service;
    await Stock.create(postgres.url);
    const client = await service.boot();
    const stock = new Stock(client, postgres.url);
    const mailboxes = new Mailboxes(client);
    const trade = new Trade(client, (sale) => Promise.all([stock.take(sale.itemId), mailboxes.notify(sale)]));
    const talk = new Talk(client);
    const contention = new Contention(client);
    const newsletters = new Newsletters(client, peer.port);
    const logs = new AccessLogs(client);
    for (const part of [trade, talk, stock, logs]) await part.prepare();
    await service.replicated();

    const end = new AbortController();
    const all = [trade, talk, stock, contention, newsletters, mailboxes, logs];
    const parts = all.map((part) => part.run(end.signal));
    const traffic = Promise.all(parts);
    stopTraffic = async () => {
      end.abort();
      client.close();
      await Promise.allSettled(parts);
      await stock.close();
    };
    const keyOf = (name: string, entity: string): string => new KeySpace(name, prefix).entity(entity).key('');
    /** Fails at once when the traffic does. */
    const goesOn = async (): Promise<void> => {
      const wanted = trade.sales.length + SALES;
      await Promise.race([
        traffic,
        until(`${SALES} more sales`, () => trade.sales.length >= wanted, PHASE_MS),
      ]);
    };
    await goesOn();
    await service.killWorker();
    await goesOn();
    await service.killMaster(keyOf('market', 'main'));
    await goesOn();
    await service.killMaster(keyOf('queues', 'mail'));
    await goesOn();
    end.abort();
    await traffic;

    await stock.caughtUp();
    const run = { service, client, trade, talk, contention, newsletters, mailboxes, logs };
    const { violations, figures } = await accountFor(run);
    const repeats = Object.fromEntries(client.repeats);
    process.stdout.write(`\n${deployment}: ${JSON.stringify({ ...figures, pages: stock.pages, repeats })}\n`);
    expect(violations).toEqual([]);
    expect(stock.impossible).toBe(0);
    expect(peer.mails.length).toBeGreaterThan(0);
    expect(peer.mostNewsletters).toBeGreaterThanOrEqual(CONNECTIONS);
    expect(await orderOfMails(client, peer)).toEqual(EXPECTED_ORDER);
    expect(await service.end()).toEqual([0, 0, 0, 0]);
  });
});

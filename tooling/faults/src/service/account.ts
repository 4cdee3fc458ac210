/** Whether money, items, mails and messages of a run add up, once all traffic is over. */
import { until } from '@mortise/test-kit';
import { check } from '../history/check.js';
import { mutexModel } from '../history/mutex-model.js';
import { semaphoreModel } from '../history/semaphore-model.js';
import type { Books } from '../market/books.js';
import { itemsOf, moneyOf } from '../market/books.js';
import type { AccessLogs } from './access-logs.js';
import { linesOf } from './access-logs.js';
import type { Answer, ServiceClient } from './client.js';
import type { Contention } from './contention.js';
import type { Mailboxes } from './mailboxes.js';
import type { Newsletters } from './newsletters.js';
import { CONNECTIONS } from './newsletters.js';
import type { Service } from './service.js';
import type { Talk } from './talk.js';
import type { Sale, Trade } from './trade.js';
import { FUNDS, PLAYERS } from './trade.js';

const QUEUES = ['mail', 'market'];
const AT_REST = new Set(['succeeded', 'dead', 'cancelled']);
const REST_MS = 120_000;

type Times = Pick<Answer, 'calledAt' | 'answeredAt'>;

export interface Account {
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

interface Run {
  readonly service: Service;
  readonly client: ServiceClient;
  readonly trade: Trade;
  readonly talk: Talk;
  readonly contention: Contention;
  readonly newsletters: Newsletters;
  readonly mailboxes: Mailboxes;
  readonly logs: AccessLogs;
}

export async function accountFor(run: Run): Promise<Account> {
  const { service, client, trade } = run;
  const violations: string[] = [];
  /** A loss that Redis may have caused is counted; any other one is a violation. */
  const missing = (what: string, times: Times): boolean => {
    const isExcused = service.mayBeLost(times);
    if (!isExcused) violations.push(`${what} is missing`);
    return isExcused;
  };

  const kept: Sale[] = [];
  let lostSales = 0;
  for (const sale of trade.sales) {
    const { status } = await client.ask('GET', `market/sales/${sale.id}`);
    if (status === 200) kept.push(sale);
    else if (missing(`sale ${sale.id}`, sale)) lostSales += 1;
  }
  for (const { what, ...times } of trade.forgotten) missing(what, times);
  const books = booksOf(client);
  violations.push(...(await moneyOf(books, kept)), ...(await itemsOf(books, kept, trade.items, missing)));

  const mails = await mailsOf(run, kept);
  let lostMails = 0;
  for (const [task, times] of mails.due)
    if (!mails.arrived.has(task) && missing(`mail ${task}`, times)) lostMails += 1;
  const dead = await deadMails(client);
  if (dead > 0) violations.push(`${dead} mails are dead`);
  // A repeated offer is a second listing when the first one has expired meanwhile.
  const isKnown = (task: string): boolean =>
    mails.known.has(task) || mails.known.has(task.replace(/:\d+$/, ''));
  const unknown = [...mails.arrived.keys()].filter((task) => !isKnown(task));
  if (unknown.length > 0 && service.losses.length === 0)
    violations.push(`nobody has asked for the mails ${unknown.join()}`);

  const stored = await run.talk.stored();
  let lostMessages = 0;
  for (const [text, times] of run.talk.posted)
    if (!stored.has(text) && missing(`message "${text}"`, times)) lostMessages += 1;
  for (const [text, count] of stored) if (count > 1) violations.push(`message "${text}" came ${count} times`);

  const { mailboxes } = run;
  await mailboxes.drain();
  let lostLetters = 0;
  for (const [sale, times] of mailboxes.sent)
    if (!mailboxes.received.has(sale) && missing(`the message of sale ${sale}`, times)) lostLetters += 1;
  if (mailboxes.repeated.length > 0 && service.losses.length === 0)
    violations.push(`messages came again after their ack: ${mailboxes.repeated.join()}`);

  const { operations } = run.contention;
  const { losses } = service;
  const locks = { operations, losses, hasRepeats: true };
  const permits = { operations: run.newsletters.operations, losses, hasRepeats: true };
  const found = [...check(locks, mutexModel), ...check(permits, semaphoreModel(CONNECTIONS))];
  violations.push(...found.map(({ rule, key, message }) => `${rule}, ${key}: ${message}`));
  const { mostNewsletters } = service.peer;
  if (mostNewsletters > CONNECTIONS && losses.length === 0)
    violations.push(`${mostNewsletters} newsletters were sent at once`);

  const { sent: files } = run.logs;
  const [least, most] = [linesOf(files.filter((file) => !service.mayBeLost(file))), linesOf(files)];
  const counted = await run.logs.counted(least);
  for (const country of ['US', 'AU'] as const)
    if (counted[country] < least[country] || counted[country] > most[country])
      violations.push(
        `${counted[country]} lines of ${country} are counted, not ${least[country]} to ${most[country]}`,
      );
  const sent = [...mails.arrived.values()].reduce((sum, count) => sum + count, 0);
  return {
    violations,
    figures: {
      sales: trade.sales.length,
      'sales lost with a master': lostSales,
      'mails due': mails.due.size,
      'mails sent twice': sent - mails.arrived.size,
      'mails lost with a master': lostMails,
      'messages to mailboxes': mailboxes.sent.size,
      'messages to mailboxes lost with a master': lostLetters,
      newsletters: service.peer.newsletters,
      'newsletters at once': mostNewsletters,
      'log files': files.length,
      'lines counted': counted.US + counted.AU,
      messages: run.talk.posted.size,
      'messages lost with a master': lostMessages,
      grants: operations.filter(({ op, outcome }) => op === 'acquire' && outcome === 'acquired').length,
      'failed acquisitions': operations.filter(({ op, outcome }) => op === 'acquire' && outcome === 'failed')
        .length,
    },
  };
}

/** The market through its API. */
function booksOf(client: ServiceClient): Books {
  return {
    players: PLAYERS,
    funds: FUNDS,
    fundsOf: async (id) => (await client.get('GET', `market/players/${id}`)).document.funds,
    itemsOf: async (id) => (await client.list(`market/players/${id}/items`)).map((item) => item.id),
    listed: async () => (await client.list('market/listings')).map(({ itemId }) => itemId),
  };
}

interface Mails {
  /** By task. */
  readonly due: ReadonlyMap<string, Times>;
  /** By task: how often each was accepted by the peer. */
  readonly arrived: ReadonlyMap<string, number>;
  /** Tasks that somebody has asked for. */
  readonly known: ReadonlySet<string>;
}

/** Waits until no task is left to do. */
async function mailsOf({ service, client, trade }: Run, kept: readonly Sale[]): Promise<Mails> {
  const due = new Map<string, Times>([
    ...kept.map((sale): [string, Times] => [sale.id, sale]),
    ...trade.expired,
    ...trade.resets,
  ]);
  const arrived = (): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { source } of service.peer.mails) {
      const id = /^message-id: <([^@>]+)@mail\.mortise\.example>\r?$/im.exec(source.toString())?.[1] ?? '';
      const task = decodeURIComponent(id);
      counts.set(task, (counts.get(task) ?? 0) + 1);
    }
    return counts;
  };
  const isMissing = (): boolean => {
    const here = arrived();
    return [...due].some(([task, times]) => !here.has(task) && !service.mayBeLost(times));
  };
  // The caller reports those that never come.
  await until('all mails', () => !isMissing(), REST_MS).catch(() => undefined);
  await until('no task is left', async () => (await leftTasks(client)) === 0, REST_MS);
  const known = new Set([...due.keys(), ...trade.sales.map(({ id }) => id), ...trade.asked]);
  return { due, arrived: arrived(), known };
}

async function leftTasks(client: ServiceClient): Promise<number> {
  let left = 0;
  for (const queue of QUEUES) {
    const { counts } = (await client.get('GET', `queues/${queue}`)).document as {
      counts: Record<string, number>;
    };
    for (const [state, count] of Object.entries(counts)) if (!AT_REST.has(state)) left += count;
  }
  return left;
}

async function deadMails(client: ServiceClient): Promise<number> {
  return (await client.get('GET', 'queues/mail')).document.counts.dead;
}

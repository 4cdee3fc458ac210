/**
 * Players of the marketplace of `apps/api` offer, buy and withdraw items, by script and by lock, and repeat calls without a reply. At
 * the end the sales explain each balance and each item.
 */
import type * as Markets from '@mortise/api/market';
import type { Plan } from '../plan.js';
import { FAULTS, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import { Operations } from './queue-of-operations.js';

const FUNDS = 1_000;
const ITEMS = 2;
const PRICES = [1, 300, 900];
const END_STEPS = 20_000;
const END_MS = 300_000;
const TRIES = 50;
const PAUSE_MS = 20;

export const market: Workload = {
  name: 'market',
  shape: {
    processes: [2, 3],
    operations: [6, 20],
    faults: [...FAULTS, ...SERVER_CLOCK],
    mostFaults: 5,
    steps: 170,
    longestMs: 3_000,
  },
  begin: (plan) => new MarketPrograms(plan),
};

interface Program {
  readonly process: VirtualProcess;
  readonly market: Markets.Market;
  readonly player: string;
}

class MarketPrograms implements Programs {
  readonly #operations: Operations;
  readonly #players: readonly string[];
  readonly #offers: { readonly id: string; readonly price: number }[] = [];
  readonly #receipts = new Map<string, Markets.Receipt>();
  /** By listing and buyer: how many purchases were asked for and refused. */
  readonly #purchases = new Map<string, { asked: number; refused: number }>();
  readonly #violations: string[] = [];
  readonly #working = new Set<VirtualProcess>();
  readonly #prepared = new Set<string>();

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    this.#players = plan.processes.map((number) => `player${number}`);
  }

  start(process: VirtualProcess, number: number): void {
    const { Market } = process.load<typeof Markets>('@mortise/api/market');
    const program = { process, market: new Market(process.connect()), player: `player${number}` };
    void this.#run(program, number);
  }

  isDone(): boolean {
    for (const process of this.#working) if (!process.isDead) return false;
    return this.#operations.isEmpty && this.#prepared.size === this.#players.length;
  }

  async check(world: World): Promise<readonly string[]> {
    const reader = world.spawn('reader');
    const { Market } = reader.load<typeof Markets>('@mortise/api/market');
    const own = new Market(reader.connect());
    let isRead = false;
    void this.#examine(own).then(() => (isRead = true));
    if (!(await world.runUntil(() => isRead, END_STEPS, END_MS)))
      this.#violations.push('progress: the market is never read');
    return this.#violations;
  }

  async #run(program: Program, number: number): Promise<void> {
    this.#working.add(program.process);
    await this.#prepare(program);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number))
      await this.#trade(program, one.seed);
    this.#working.delete(program.process);
  }

  /** Once, whatever happens to the process. */
  async #prepare({ process, market: own, player }: Program): Promise<void> {
    if (this.#prepared.has(player)) return;
    const profile = { name: player, email: `${player}@example.com`, funds: FUNDS };
    await this.#persist(process, () => own.putPlayer(player, profile));
    for (let item = 0; item < ITEMS; item += 1)
      await this.#persist(process, () => own.giveItem(player, `${player}-item${item}`));
    this.#prepared.add(player);
  }

  async #trade({ process, market: own, player }: Program, seed: number): Promise<void> {
    const random = new Random(seed);
    await process.pause(random.below(40));
    const strategy = random.isTrue(0.3) ? 'lock' : 'script';
    const offer = random.pick(this.#offers.length > 0 ? this.#offers : [undefined]);
    if (!offer || random.isTrue(0.4)) await this.#offer(process, own, player, { random, seed, strategy });
    else if (random.isTrue(0.15))
      await this.#persist(process, () => own.withdraw(offer.id, player, { strategy }));
    else {
      const order = { listingId: offer.id, buyerId: player, expectedPrice: offer.price, strategy } as const;
      const purchases = this.#purchasesOf(offer.id, player);
      purchases.asked += 1;
      const outcome = await this.#persist(process, () => own.purchase({ ...order, requestKey: `r${seed}` }));
      if (outcome) this.#buy(outcome.value, player, offer);
      else purchases.refused += 1;
    }
  }

  async #offer(
    process: VirtualProcess,
    own: Markets.Market,
    player: string,
    { random, seed, strategy }: { random: Random; seed: number; strategy: 'lock' | 'script' },
  ): Promise<void> {
    const { items } = (await this.#persist(process, () => own.itemsOf(player))) ?? { items: [] };
    if (items.length === 0) return;
    const offer = { id: `l${seed}`, price: random.pick(PRICES) };
    const itemId = random.pick(items);
    // Others may see it before the reply arrives.
    this.#offers.push(offer);
    await this.#persist(process, () => own.list({ ...offer, sellerId: player, itemId, strategy }));
  }

  #purchasesOf(listingId: string, buyer: string): { asked: number; refused: number } {
    const key = `${listingId} ${buyer}`;
    const purchases = this.#purchases.get(key) ?? { asked: 0, refused: 0 };
    this.#purchases.set(key, purchases);
    return purchases;
  }

  #buy(
    receipt: Markets.Receipt,
    buyer: string,
    offer: { readonly id: string; readonly price: number },
  ): void {
    const { id, listingId, buyerId, price } = receipt;
    if (listingId !== offer.id || buyerId !== buyer || price !== offer.price)
      this.#violations.push(`receipt: ${buyer} bought ${offer.id}, and got ${JSON.stringify(receipt)}`);
    for (const other of this.#receipts.values())
      if (other.listingId === listingId && other.id !== id)
        this.#violations.push(`sold twice: ${listingId} to ${other.buyerId} and ${buyerId}`);
    this.#receipts.set(id, receipt);
  }

  /** Repeats a call without a reply. Resolves to undefined after a refusal of the market. */
  async #persist<Result>(process: VirtualProcess, call: () => Promise<Result>): Promise<Result | undefined> {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        const { code = '' } = error as { code?: string };
        process.note(`is refused: ${code} ${String(error)}`);
        if (!/^ERR_(?:REDIS|CLIENT|LOCK|LEASE|STALE)|^$/.test(code)) return undefined;
        await process.pause(PAUSE_MS);
      }
    }
    return undefined;
  }

  async #examine(own: Markets.Market): Promise<void> {
    const sales = await own.outbox(1_000);
    const balances = new Map(this.#players.map((player) => [player, FUNDS]));
    for (const { sellerId, buyerId, price } of sales) {
      balances.set(sellerId, balances.get(sellerId)! + price);
      balances.set(buyerId, balances.get(buyerId)! - price);
    }
    for (const { id, listingId } of this.#receipts.values())
      if (!sales.some((sale) => sale.id === id)) this.#violations.push(`lost: the sale of ${listingId}`);
    if (new Set(sales.map(({ listingId }) => listingId)).size !== sales.length)
      this.#violations.push('sold twice: two sales of a listing are stored');
    for (const { listingId, buyerId } of sales) {
      const { asked, refused } = this.#purchasesOf(listingId, buyerId);
      if (asked === refused)
        this.#violations.push(`receipt: ${buyerId} has bought ${listingId}, and was refused`);
    }
    const places = new Map<string, string[]>();
    const note = (itemId: string, place: string): void =>
      void places.set(itemId, [...(places.get(itemId) ?? []), place]);
    for (const listing of (await own.listings({ limit: 200 })).items) note(listing.itemId, listing.sellerId);
    for (const player of this.#players) {
      const funds = (await own.player(player))?.funds ?? NaN;
      if (funds !== balances.get(player) || funds < 0)
        this.#violations.push(`money: ${player} has ${funds}, and the sales leave ${balances.get(player)}`);
      for (const item of (await own.itemsOf(player, { limit: 200 })).items) note(item, player);
    }
    this.#checkItems(places, sales);
  }

  #checkItems(places: ReadonlyMap<string, readonly string[]>, sales: readonly Markets.Receipt[]): void {
    for (const player of this.#players) {
      for (let number = 0; number < ITEMS; number += 1) {
        const item = `${player}-item${number}`;
        const found = places.get(item) ?? [];
        const owner = ownerOf(item, player, sales);
        if (found.length !== 1 || found[0] !== owner)
          this.#violations.push(`items: ${item} of ${owner} is with ${found.join(' and ') || 'nobody'}`);
      }
    }
  }
}

/** The player with one purchase more than sales. The order of the sales is that of a clock, which may go back. */
function ownerOf(item: string, first: string, sales: readonly Markets.Receipt[]): string | undefined {
  const counts = new Map([[first, 1]]);
  for (const { itemId, sellerId, buyerId } of sales) {
    if (itemId !== item) continue;
    counts.set(sellerId, (counts.get(sellerId) ?? 0) - 1);
    counts.set(buyerId, (counts.get(buyerId) ?? 0) + 1);
  }
  return [...counts].find(([, count]) => count === 1)?.[0];
}

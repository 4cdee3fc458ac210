/**
 * Players of the marketplace of `apps/api` offer, buy and withdraw items, by script and by lock, and repeat calls without a reply. At
 * the end the sales explain each balance and each item.
 */
import type * as Markets from '@mortise/api/market';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { ServerState } from '../world/server-state.js';
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
    faults: [...FAULTS, ...SERVER_CLOCK, ...LOSSES],
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

/** A call that had a reply, ms since the world began. */
interface Call {
  readonly calledAt: number;
  readonly returnedAt: number;
}

interface Bought {
  readonly receipt: Markets.Receipt;
  readonly call: Call;
}

class MarketPrograms implements Programs {
  readonly #operations: Operations;
  readonly #players: readonly string[];
  readonly #offers: { readonly id: string; readonly price: number }[] = [];
  /** By sale. */
  readonly #receipts = new Map<string, Bought>();
  /** By listing and buyer: how many purchases were asked for and refused. */
  readonly #purchases = new Map<string, { asked: number; refused: number }>();
  readonly #violations: string[] = [];
  readonly #working = new Set<VirtualProcess>();
  /** The last call that created a player, or gave an item, by id. */
  readonly #given = new Map<string, Call>();
  /** Players that a refusal says the server forgot. */
  readonly #forgotten = new Set<string>();

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
    return this.#operations.isEmpty && this.#players.every((player) => this.#isPrepared(player));
  }

  async check(world: World): Promise<readonly string[]> {
    const reader = world.spawn('reader');
    const { Market } = reader.load<typeof Markets>('@mortise/api/market');
    const own = new Market(reader.connect());
    let isRead = false;
    void this.#examine(own, world.server).then(() => (isRead = true));
    if (!(await world.runUntil(() => isRead, END_STEPS, END_MS)))
      this.#violations.push('progress: the market is never read');
    return this.#violations;
  }

  async #run(program: Program, number: number): Promise<void> {
    this.#working.add(program.process);
    await this.#prepare(program);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number)) {
      await this.#trade(program, one.seed);
      if (this.#forgotten.delete(program.player)) await this.#prepare(program, true);
    }
    this.#working.delete(program.process);
  }

  #isPrepared(player: string): boolean {
    return this.#given.has(itemOf(player, ITEMS - 1));
  }

  /** Once, whatever happens to the process, and again after a server forgot the player. An item never changes its place here. */
  async #prepare({ process, market: own, player }: Program, isForgotten = false): Promise<void> {
    if (this.#isPrepared(player) && !isForgotten) return;
    const profile = { name: player, email: `${player}@example.com`, funds: FUNDS };
    const give = async (id: string, call: () => Promise<unknown>): Promise<void> => {
      const calledAt = process.now();
      await this.#persist(process, player, call);
      this.#given.set(id, { calledAt, returnedAt: process.now() });
    };
    await give(player, () => own.putPlayer(player, profile));
    for (let number = 0; number < ITEMS; number += 1) {
      const item = itemOf(player, number);
      await give(item, () => own.giveItem(player, item));
    }
  }

  async #trade({ process, market: own, player }: Program, seed: number): Promise<void> {
    const random = new Random(seed);
    await process.pause(random.below(40));
    const strategy = random.isTrue(0.3) ? 'lock' : 'script';
    const offer = random.pick(this.#offers.length > 0 ? this.#offers : [undefined]);
    if (!offer || random.isTrue(0.4)) await this.#offer(process, own, player, { random, seed, strategy });
    else if (random.isTrue(0.15))
      await this.#persist(process, player, () => own.withdraw(offer.id, player, { strategy }));
    else {
      const order = { listingId: offer.id, buyerId: player, expectedPrice: offer.price, strategy } as const;
      const purchases = this.#purchasesOf(offer.id, player);
      purchases.asked += 1;
      const calledAt = process.now();
      const outcome = await this.#persist(process, player, () =>
        own.purchase({ ...order, requestKey: `r${seed}` }),
      );
      const call = { calledAt, returnedAt: process.now() };
      if (outcome) this.#buy({ receipt: outcome.value, call }, player, offer);
      else purchases.refused += 1;
    }
  }

  async #offer(
    process: VirtualProcess,
    own: Markets.Market,
    player: string,
    { random, seed, strategy }: { random: Random; seed: number; strategy: 'lock' | 'script' },
  ): Promise<void> {
    const { items } = (await this.#persist(process, player, () => own.itemsOf(player))) ?? { items: [] };
    if (items.length === 0) return;
    const offer = { id: `l${seed}`, price: random.pick(PRICES) };
    const itemId = random.pick(items);
    // Others may see it before the reply arrives.
    this.#offers.push(offer);
    await this.#persist(process, player, () => own.list({ ...offer, sellerId: player, itemId, strategy }));
  }

  #purchasesOf(listingId: string, buyer: string): { asked: number; refused: number } {
    const key = `${listingId} ${buyer}`;
    const purchases = this.#purchases.get(key) ?? { asked: 0, refused: 0 };
    this.#purchases.set(key, purchases);
    return purchases;
  }

  #buy(bought: Bought, buyer: string, offer: { readonly id: string; readonly price: number }): void {
    const { receipt } = bought;
    const { id, listingId, buyerId, price } = receipt;
    if (listingId !== offer.id || buyerId !== buyer || price !== offer.price)
      this.#violations.push(`receipt: ${buyer} bought ${offer.id}, and got ${JSON.stringify(receipt)}`);
    this.#receipts.set(id, bought);
  }

  /** Repeats a call without a reply. Resolves to undefined after a refusal of the market. */
  async #persist<Result>(
    process: VirtualProcess,
    player: string,
    call: () => Promise<Result>,
  ): Promise<Result | undefined> {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        const { code = '' } = error as { code?: string };
        process.note(`is refused: ${code} ${String(error)}`);
        if (code === 'ERR_UNKNOWN_PLAYER') this.#forgotten.add(player);
        if (!/^ERR_(?:REDIS|CLIENT|LOCK|LEASE|STALE)|^$/.test(code)) return undefined;
        await process.pause(PAUSE_MS);
      }
    }
    return undefined;
  }

  async #examine(own: Markets.Market, server: ServerState): Promise<void> {
    const sales = await own.outbox(1_000);
    const balances = new Map(this.#players.map((player) => [player, FUNDS]));
    for (const { sellerId, buyerId, price } of sales) {
      balances.set(sellerId, balances.get(sellerId)! + price);
      balances.set(buyerId, balances.get(buyerId)! - price);
    }
    const isForgotten = (call: Call): boolean => server.mayHaveForgotten(call.calledAt, call.returnedAt);
    for (const { receipt, call } of this.#receipts.values())
      if (!sales.some(({ id }) => id === receipt.id) && !isForgotten(call))
        this.#violations.push(`lost: the sale of ${receipt.listingId}`);
    const kept = [...this.#receipts.values()].filter(({ call }) => !isForgotten(call));
    if (new Set(kept.map(({ receipt }) => receipt.listingId)).size !== kept.length)
      this.#violations.push('sold twice: two buyers have receipts of a listing');
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
      const found = await own.player(player);
      if (!found && isForgotten(this.#given.get(player)!)) continue;
      const funds = found?.funds ?? NaN;
      if (funds !== balances.get(player) || funds < 0)
        this.#violations.push(`money: ${player} has ${funds}, and the sales leave ${balances.get(player)}`);
      for (const item of (await own.itemsOf(player, { limit: 200 })).items) note(item, player);
    }
    this.#checkItems(places, sales, isForgotten);
  }

  #checkItems(
    places: ReadonlyMap<string, readonly string[]>,
    sales: readonly Markets.Receipt[],
    isForgotten: (call: Call) => boolean,
  ): void {
    for (const player of this.#players) {
      for (let number = 0; number < ITEMS; number += 1) {
        const item = itemOf(player, number);
        if (!places.has(item) && isForgotten(this.#given.get(item)!)) continue;
        const found = places.get(item) ?? [];
        const owner = ownerOf(item, player, sales);
        if (found.length !== 1 || found[0] !== owner)
          this.#violations.push(`items: ${item} of ${owner} is with ${found.join(' and ') || 'nobody'}`);
      }
    }
  }
}

function itemOf(player: string, number: number): string {
  return `${player}-item${number}`;
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

/** Whether coins and items of a market add up, whatever way it is read by. */

interface Times {
  readonly calledAt: number;
  readonly answeredAt: number;
}

/** A sale that the market knows. */
export interface KnownSale {
  readonly itemId: string;
  readonly sellerId: string;
  readonly buyerId: string;
  readonly price: number;
}

/** The market as it is now. */
export interface Books {
  readonly players: readonly string[];
  /** The coins of each player at the beginning. */
  readonly funds: number;
  fundsOf(player: string): Promise<number>;
  itemsOf(player: string): Promise<readonly string[]>;
  /** The items that are offered. */
  listed(): Promise<readonly string[]>;
}

/** Each player has what the sales say, so that no coin was made or lost. */
export async function moneyOf(books: Books, sales: readonly KnownSale[]): Promise<string[]> {
  const expected = new Map(books.players.map((id) => [id, books.funds]));
  for (const { sellerId, buyerId, price } of sales) {
    expected.set(sellerId, expected.get(sellerId)! + price);
    expected.set(buyerId, expected.get(buyerId)! - price);
  }
  const violations: string[] = [];
  let sum = 0;
  for (const id of books.players) {
    const funds = await books.fundsOf(id);
    sum += funds;
    if (funds !== expected.get(id)) violations.push(`${id} has ${funds} coins, not ${expected.get(id)}`);
  }
  if (sum !== books.funds * books.players.length) violations.push(`there are ${sum} coins in all`);
  return violations;
}

/**
 * Each item is in one place; a sold one is its buyer's.
 * @param missing Called with each item that is nowhere.
 */
export async function itemsOf(
  books: Books,
  sales: readonly KnownSale[],
  items: ReadonlyMap<string, Times>,
  missing: (what: string, times: Times) => boolean,
): Promise<string[]> {
  const places = new Map<string, string[]>();
  const put = (itemId: string, place: string): void => {
    places.set(itemId, [...(places.get(itemId) ?? []), place]);
  };
  for (const id of books.players) for (const item of await books.itemsOf(id)) put(item, id);
  for (const itemId of await books.listed()) put(itemId, 'the market');
  for (const [itemId, times] of items) if (!places.has(itemId)) missing(itemId, times);
  const doubled = [...places].filter(([, some]) => some.length > 1);
  const misplaced = sales.filter(({ itemId, buyerId }) => places.get(itemId)?.[0] !== buyerId);
  return [
    ...doubled.map(([itemId, some]) => `${itemId} is at ${some.join(' and ')}`),
    ...misplaced.map(({ itemId, buyerId }) => `${itemId} is not at ${buyerId}, who has bought it`),
  ];
}

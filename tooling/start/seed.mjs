/**
 * Example data: the players of Fake Game, what they own, and one item for sale. Each start offers an item that is
 * still to be had, so the printed line works every time; what earlier starts left is kept.
 */
const PLAYERS = [
  {
    id: 'frank',
    name: 'Frank',
    email: 'frank@fake-game.example',
    funds: 1_000_000,
    items: ['ItemL', 'ItemM', 'ItemN'],
  },
  {
    id: 'bill',
    name: 'Bill',
    email: 'bill@fake-game.example',
    funds: 12_500,
    items: ['ItemO', 'ItemP', 'ItemQ'],
  },
  { id: 'jack451', name: 'Jack', email: 'jack451@fake-game.example', funds: 4_300, items: ['ItemR'] },
];
const BUYER = 'frank';
const SELLER = 'bill';
const PRICE = 97;

export async function seed(address) {
  for (const { id, items, ...player } of PLAYERS) {
    const known = await send('GET', `${address}/v1/market/players/${id}`, undefined, [200, 404]);
    if (known.status === 404) await send('PUT', `${address}/v1/market/players/${id}`, player);
    // 409: somebody has bought or listed it since.
    for (const item of items) {
      await send('PUT', `${address}/v1/market/players/${id}/items/${item}`, undefined, [200, 201, 204, 409]);
    }
  }
  const itemId = `ItemM-${Date.now().toString(36)}`;
  await send('PUT', `${address}/v1/market/players/${SELLER}/items/${itemId}`);
  const { body } = await send('POST', `${address}/v1/market/listings`, {
    sellerId: SELLER,
    itemId,
    price: PRICE,
  });
  return { listingId: body.id, buyerId: BUYER, price: PRICE };
}

async function send(method, url, body, accepted = [200, 201, 204]) {
  const response = await fetch(url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  if (!accepted.includes(response.status)) {
    throw new Error(`example data: ${method} ${url} answered ${response.status}: ${text}`);
  }
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

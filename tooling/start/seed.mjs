/**
 * Example data: the players of Fake Game, what they own, one item for sale, work for the console, and a guild of 10,000. Each start offers an item that is
 * still to be had, so the printed line works every time; what earlier starts left is kept. `MORTISE_GUILD_SIZE` sets another size of
 * the guild; 0 leaves it out.
 */
import { randomUUID } from 'node:crypto';

import { guildPlayers } from './guild-players.mjs';
import { sender } from './sender.mjs';

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
const GUILD = 'dragons';
const GUILD_SIZE = Number(process.env.MORTISE_GUILD_SIZE ?? 10_000);
const LETTERS = 100;
const DAY_MS = 86_400_000;
const BATCH = 1_000;

export async function seed({ address, key }) {
  const send = sender(key);
  for (const { id, items, ...player } of PLAYERS) {
    const known = await send('GET', `${address}/v1/market/players/${id}`, undefined, {
      accepted: [200, 404],
    });
    if (known.status === 404) await send('PUT', `${address}/v1/market/players/${id}`, player);
    // 409: somebody has bought or listed it since.
    for (const item of items) {
      await send('PUT', `${address}/v1/market/players/${id}/items/${item}`, undefined, {
        accepted: [200, 201, 204, 409],
      });
    }
  }
  const itemId = `ItemM-${Date.now().toString(36)}`;
  await send('PUT', `${address}/v1/market/players/${SELLER}/items/${itemId}`);
  const listing = { sellerId: SELLER, itemId, price: PRICE };
  const requestKey = randomUUID();
  const { body } = await send('POST', `${address}/v1/market/listings`, listing, { requestKey });
  return { listingId: body.id, buyerId: BUYER, price: PRICE, guild: GUILD };
}

/**
 * Takes a few seconds the first time, while the shop works. Frank creates the guild and adds the others. The payload of his
 * own name says when all are in. So the next start completes one that was cut off, and later changes of the guild stay.
 */
export async function seedGuild({ address, key }) {
  if (GUILD_SIZE === 0) return;
  const send = sender(key);
  const [creator, ...others] = PLAYERS;
  const book = `${address}/v1/address-books/${GUILD}`;
  const own = `${book}/names/${creator.id}?by=${creator.id}`;
  const known = await send('GET', own, undefined, { accepted: [200, 403] });
  if (known.body?.payload?.guildSize !== undefined) return;
  const creation = await send('PUT', own, { display: creator.name }, { accepted: [200, 201, 403] });
  // Others have made this guild theirs.
  if (creation.status === 403) return;
  const names = [
    ...others.map(({ id, name }) => ({ name: id, display: name })),
    ...guildPlayers(GUILD_SIZE - PLAYERS.length),
  ];
  for (let from = 0; from < names.length; from += BATCH) {
    const body = { names: names.slice(from, from + BATCH) };
    await send('POST', `${book}/name-batches?by=${creator.id}`, body);
  }
  await send('PUT', own, { display: creator.name, payload: { guildSize: GUILD_SIZE } });
}

/**
 * Work for the console: a chat, a hundred tasks that wait for tomorrow, and a mail that failed, since its seller is no player. Ids of
 * their own: a later start changes none of them.
 */
export async function seedConsole({ address, key }) {
  const send = sender(key);
  const [frank, ...others] = PLAYERS.map(({ id }) => id);
  const chat = { chatId: 'lobby', sender: frank, members: others, body: 'Who sells an ItemM?' };
  const letters = Array.from({ length: LETTERS }, (_, index) => ({
    id: `letter-${index + 1}`,
    name: 'newsletter.send',
    payload: { playerId: PLAYERS[index % PLAYERS.length].id, issue: 7 },
    delayMs: DAY_MS,
  }));
  // 409: somebody has changed the task or the chat since.
  const known = { accepted: [200, 201, 409] };
  await send('POST', `${address}/v1/chats`, chat, known);
  await send('POST', `${address}/v1/queues/newsletter/task-batches`, { tasks: letters });
  const mail = {
    id: 'mail-of-nobody',
    name: 'mail.sold',
    payload: { sellerId: 'nobody', itemId: 'ItemM', price: PRICE, buyerId: frank },
    attempts: 1,
  };
  await send('POST', `${address}/v1/queues/mail/tasks`, mail, known);
}

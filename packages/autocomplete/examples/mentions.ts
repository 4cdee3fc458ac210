import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { Redis } from 'ioredis';
import { completeMentions } from './mentions/complete-mentions.js';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = 'example-mentions';

// A contact is an id and a name here.
const recent = new RecentContacts(redis, { prefix, displayOf: (contact) => contact.split('|')[1]! });
await recent.touch('anna', '1|John Smith');
await recent.touch('anna', '9|Joe Doe');

const guild = new AddressBook<string>(redis, 'guild:7', { prefix });
await guild.add({ key: '1', display: 'John Smith', score: 1, payload: 'john.png' });
await guild.add({ key: '2', display: 'Jody Smith', score: 80 });
const friends = new AddressBook<string>(redis, 'friends:anna', { prefix });
await friends.add({ key: '2', display: 'Jody Smith' });
await friends.add({ key: '3', display: 'José' });

const sources = { recent, books: [guild, friends], keyOf: (contact: string) => contact.split('|')[0]! };
const { mentions, failures } = await completeMentions(sources, 'anna', 'jo', { limit: 5 });
for (const { key, display, source, payload } of mentions) console.log(key, display, source, payload);
console.log(failures);

for (const contact of ['1|John Smith', '9|Joe Doe']) await recent.remove('anna', contact);
for (const key of ['1', '2']) await guild.remove(key);
for (const key of ['2', '3']) await friends.remove(key);
await redis.quit();

// Output:
// 9 Joe Doe recent undefined
// 1 John Smith recent john.png
// 2 Jody Smith 0 undefined
// 3 José 1 undefined
// []

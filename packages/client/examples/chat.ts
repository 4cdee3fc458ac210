/** Two members of a chat. In a page each has a client of their own; this program runs in Node too. */
import { ChatMember, MortiseClient } from '@mortise/client';

const client = new MortiseClient({
  url: process.env['API_URL'] ?? 'http://127.0.0.1:3000',
  credential: process.env['API_KEY'] ?? 'mk_…',
});
const [frank, bill] = [new ChatMember(client, 'frank'), new ChatMember(client, 'bill')];
const { chatId } = (await client.request('POST', 'chats', {
  body: { sender: 'frank', members: ['bill'] },
})) as { readonly chatId: string };

await new Promise<void>((resolve) => {
  const stop = bill.follow({
    // Events before this moment are unknown here: a page would read what it shows.
    gap: (reason) => console.log('gap:', reason),
    event: (event) => {
      if (event.chatId !== chatId || event.type !== 'message') return;
      const { id, from, body } = event.message;
      console.log(`${from}: ${String(body)}`);
      void bill.ack(chatId, id, event.epoch);
      if (body === 'At nine.') {
        stop();
        resolve();
      }
    },
  });
  // Sent again under its id until the API answers: posted once.
  void frank.post(chatId, 'At eight?').then(() => frank.post(chatId, 'At nine.'));
});
console.log('posted', await bill.post(chatId, 'Fine.'));
client.close();

// Output:
// gap: start
// frank: At eight?
// frank: At nine.
// posted 3

import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { runCluster } from '@mortise/test-kit';

const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });

test('serves recipients of all masters: waiting, sending to many, acking', async () => {
  const mailboxes = new Mailboxes<string>(cluster);
  const recipients = Array.from({ length: 30 }, (_, index) => `user ${index}`);
  const waiting = Promise.all(
    recipients.map((recipient) => mailboxes.receive(recipient, { waitMs: 30_000 })),
  );
  await mailboxes.sendMany(
    recipients.map((recipient) => ({ recipient, body: `for ${recipient}`, from: 'anna' })),
  );
  const received = await waiting;
  expect(received.map((messages) => messages.map(({ body }) => body))).toEqual(
    recipients.map((recipient) => [`for ${recipient}`]),
  );
  expect(await Promise.all(recipients.map((recipient) => mailboxes.ack(recipient, 1)))).toEqual(
    recipients.map(() => 1),
  );
  const sizes = await Promise.all(cluster.nodes('master').map((node) => node.dbsize()));
  expect(sizes).toHaveLength(3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('devices, expiry and blocked senders are of one slot each, on all masters', async () => {
  const mailboxes = new Mailboxes<string>(cluster, { prefix: 'devices' });
  const recipients = Array.from({ length: 30 }, (_, index) => `}user ${index}`);
  const outcomes = await Promise.all(
    recipients.map(async (recipient) => {
      await mailboxes.addDevice(recipient, 'phone');
      await mailboxes.addDevice(recipient, 'laptop');
      await mailboxes.block(recipient, 'joe');
      const sends = await Promise.allSettled([
        mailboxes.send(recipient, 'one', { from: 'anna', ttlMs: 3_600_000 }),
        mailboxes.send(recipient, 'spam', { from: 'joe' }),
        mailboxes.send(recipient, 'two', { from: 'anna' }),
      ]);
      await cluster.zadd(`devices:messaging:{%7D${recipient.slice(1)}}:mailbox-expiring`, 'XX', '1', '1');
      await mailboxes.ack(recipient, 2, { device: 'phone' });
      const messages = await mailboxes.receive(recipient, { device: 'laptop' });
      await mailboxes.removeDevice(recipient, 'laptop');
      return [
        sends.map(({ status }) => status),
        messages.map(({ body }) => body),
        (await mailboxes.status(recipient)).size,
        await mailboxes.blocked(recipient),
      ];
    }),
  );
  expect(outcomes).toEqual(
    recipients.map(() => [['fulfilled', 'rejected', 'fulfilled'], ['two'], 0, ['joe']]),
  );
});

test('wakes a receiver after its mailbox has moved to another master', async () => {
  const mailboxes = new Mailboxes<string>(cluster);
  await mailboxes.send('jack', 'one', { from: 'anna' });
  await mailboxes.ack('jack', 1);
  const waiting = mailboxes.receive('jack', { waitMs: 40_000 });
  const key = 'mortise:messaging:{jack}:mailbox';
  const owner = await servers.ownerOf(key);
  const other = servers.nodes.find((node) => node !== owner)!;
  await servers.moveSlot(await cluster.cluster('KEYSLOT', key), other);
  await mailboxes.send('jack', 'two', { from: 'anna' });
  expect(await waiting).toMatchObject([{ id: 2, body: 'two' }]);
});

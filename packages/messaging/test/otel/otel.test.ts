import { expect, jest, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { otelTelemetry } from '@mortise/messaging/otel';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as api from '@opentelemetry/api';

test('counts of chats go to the meter of the package', async () => {
  const add = jest.fn();
  const getMeter = jest.fn((_scope: string) => ({
    createCounter: () => ({ add }),
    createHistogram: () => ({ record: add }),
  }));
  const fake = { ...api, metrics: { getMeter } } as unknown as typeof api;
  const chats = new Chats(connect(), { prefix: freshPrefix(), telemetry: otelTelemetry(fake) });
  const { chatId } = await chats.create({ sender: 'anna', members: [] });
  await chats.post(chatId, 'anna', 'hello');
  expect(getMeter).toHaveBeenCalledWith('@mortise/messaging');
  expect(add).toHaveBeenCalledWith(1, { 'messaging.system': 'mortise', 'mortise.messaging.kind': 'chat' });
});

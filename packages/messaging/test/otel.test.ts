import { expect, jest, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { otelTelemetry } from '@mortise/messaging/otel';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as api from '@opentelemetry/api';

const redis = connect();

test('counts of chats go to the meter of the package, or of the scope that was given', async () => {
  for (const [options, scope] of [
    [{}, '@mortise/messaging'],
    [{ scope: 'mine' }, 'mine'],
  ] as const) {
    const add = jest.fn();
    const getMeter = jest.fn((_scope: string) => ({
      createCounter: () => ({ add }),
      createHistogram: () => ({ record: add }),
    }));
    const fake = { ...api, metrics: { getMeter } } as unknown as typeof api;
    const chats = new Chats(redis, { prefix: freshPrefix(), telemetry: otelTelemetry(fake, options) });
    const { chatId } = await chats.create({ sender: 'anna', members: [] });
    await chats.post(chatId, 'anna', 'hello');
    expect(getMeter).toHaveBeenCalledWith(scope);
    expect(add).toHaveBeenCalledWith(1, { 'messaging.system': 'mortise', 'mortise.messaging.kind': 'chat' });
  }
});

/** A wrong request gets a problem of a stable type, and changes nothing: the cases of each area, at one API. */
import { beforeAll, describe, expect, test } from '@jest/globals';

import { refuseInAutocomplete } from './bad-input/autocomplete.js';
import { refuseInEveryRoute } from './bad-input/every-route.js';
import { refuseInFiles } from './bad-input/files.js';
import { refuseInHttp } from './bad-input/http.js';
import { refuseInLocks } from './bad-input/locks.js';
import { refuseInMarket } from './bad-input/market.js';
import { refuseInMessaging } from './bad-input/messaging.js';
import { refuseInQueues } from './bad-input/queues.js';
import { openShopForFile } from './fixture/refusals.js';

const shop = openShopForFile();

test('the shop is as it was opened', async () => expect(await shop.isAnythingChanged()).toBe(false));

describe.each([
  ['http', refuseInHttp],
  ['queues', refuseInQueues],
  ['locks', refuseInLocks],
  ['messaging', refuseInMessaging],
  ['autocomplete', refuseInAutocomplete],
  ['files', refuseInFiles],
  ['every route', refuseInEveryRoute],
  ['market', refuseInMarket],
])('%s:', (_, refuse) => {
  // The last test of an area may change something.
  beforeAll(() => shop.reopen());
  refuse(shop);
});

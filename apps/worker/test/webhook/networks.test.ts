import { describe, expect, test } from '@jest/globals';

import { listOf, mayReach } from '../../src/webhook/networks.js';

const none = listOf([]);

describe('without allowed networks', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '172.15.255.255',
    '172.32.0.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001:830::200e',
  ])('%s is reached', (address) => expect(mayReach(address, none)).toBe(true));

  test.each([
    ['this host', '0.0.0.0'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared by a provider', '100.64.0.1'],
    ['link-local, with the metadata of clouds', '169.254.169.254'],
    ['a relay of 6to4', '192.88.99.1'],
    ['benchmarks', '198.19.255.255'],
    ['documentation', '203.0.113.7'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['mapped', '::ffff:127.0.0.1'],
    ['mapped, in hexadecimal', '::ffff:7f00:1'],
    ['mapped, though public', '::ffff:1.1.1.1'],
    ['compatible with IPv4', '::7f00:1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64 of a network', '64:ff9b:1::1'],
    ['6to4', '2002:7f00:1::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['documentation', '2001:db8::1'],
    ['unique local', 'fd00::1'],
    ['link-local', 'fe80::1'],
    ['multicast', 'ff02::1'],
    ['no address', 'localhost'],
  ])('%s: %s is not', (_, address) => expect(mayReach(address, none)).toBe(false));
});

test('an allowed network is reached, in each form of its addresses', () => {
  const allowed = listOf(['10.1.0.0/16', 'fd00::/8']);
  expect(['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1'].map((address) => mayReach(address, allowed))).toEqual([
    true,
    true,
    true,
  ]);
  expect(mayReach('10.2.0.1', allowed)).toBe(false);
});

test.each(['10.0.0.0', '10.0.0.0/33', 'fd00::/129', 'example.com/8', '10.0.0.0/8/8', ''])(
  'the network "%s" is refused',
  (network) => expect(() => listOf([network])).toThrow('must be networks such as 10.1.0.0/16, fd00::/8'),
);

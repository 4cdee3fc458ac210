import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';

import { line, markup } from '../src/mail/escape.js';
import { expired, passwordReset, sold } from '../src/mail/templates.js';

const FACTS = { saleId: 'sale-1', sellerName: 'Frank', buyerName: 'Bill', itemId: 'ItemM', price: 1_097 };

/** The names of the tags in the order in which they stand. */
const tags = (html: string): string[] => html.match(/<[^>]*>/g)!.map((tag) => tag.replace(/\s.*/, ''));

describe('sold', () => {
  test('says what was sold, to whom and for how much, in both forms', () => {
    expect(sold(FACTS)).toEqual({
      subject: 'Sold: ItemM for 1,097 coins',
      text: 'Hello Frank,\n\nBill bought your item ItemM for 1,097 coins.\nThe coins are yours already.\n\nSale sale-1\n',
      html: expect.stringContaining(
        '<p>Bill bought your item <strong>ItemM</strong> for <strong>1,097 coins</strong>.',
      ),
    });
  });

  test('one coin is one coin', () => {
    expect(sold({ ...FACTS, price: 1 }).subject).toBe('Sold: ItemM for 1 coin');
  });

  test('names and items are escaped in markup', () => {
    const evil = `<img src=x onerror="alert('&')">`;
    const content = sold({ ...FACTS, sellerName: evil, buyerName: evil, itemId: evil });
    expect(content.html).not.toContain('<img');
    expect(
      content.html.match(/&lt;img src=x onerror=&quot;alert\(&#39;&amp;&#39;\)&quot;&gt;/g),
    ).toHaveLength(4);
    expect(content.text).toContain(`${evil} bought your item ${evil}`);
  });

  test('no value breaks a line, turns text around or grows without bound', () => {
    const evil = 'ItemM\r\nBcc: evil@example.com\u2028\u202etxt\ud800';
    const content = sold({ ...FACTS, itemId: evil, sellerName: `a\n\n${'b'.repeat(10_000)}` });
    expect(content.subject).toBe('Sold: ItemM Bcc: evil@example.com txt\ufffd for 1,097 coins');
    expect(content.text.split('\n')).toHaveLength(7);
    expect(content.text).not.toMatch(/[\u2028\u202e]/);
    expect(content.text).toContain('b…,');
    expect(content.html.length).toBeLessThan(2_000);
  });

  test('the subject is one line and the markup has the same tags for all values', () => {
    const expected = tags(sold(FACTS).html);
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</p><script>', '&lt;', '\'"><b>', '\r\n', '\0', '${1}'),
    );
    fc.assert(
      fc.property(value, value, value, (sellerName, buyerName, itemId) => {
        const content = sold({ ...FACTS, sellerName, buyerName, itemId });
        expect(content.subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(content.text.split(/\r?\n|\r/)).toHaveLength(7);
        expect(content.html.isWellFormed()).toBe(true);
        expect(tags(content.html)).toEqual(expected);
      }),
    );
  });
});

describe('expired and passwordReset', () => {
  test('say what has happened, in both forms', () => {
    expect(expired({ sellerName: 'Frank', itemId: 'ItemM', price: 1 })).toEqual({
      subject: 'Not sold: ItemM',
      text: 'Hello Frank,\n\nnobody bought your item ItemM for 1 coin in time.\nIt is in your inventory again.\n',
      html: expect.stringContaining('<strong>ItemM</strong> for <strong>1 coin</strong>'),
    });
    expect(passwordReset({ requestId: 'r-1', playerName: 'Frank' })).toEqual({
      subject: 'Choose a new password',
      text: expect.stringMatching(/^Hello Frank,\n[^]*\nRequest r-1\n$/),
      html: expect.stringContaining('<small>Request r-1</small>'),
    });
  });

  test('the subject is one line and the markup has the same tags for all values', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</p><script>', '\r\nBcc: x', '\0'),
    );
    const texts = [
      (one: string, other: string) => expired({ sellerName: one, itemId: other, price: 5 }),
      (one: string, other: string) => passwordReset({ requestId: one, playerName: other }),
    ];
    for (const write of texts) {
      const plain = write('a', 'b');
      fc.assert(
        fc.property(value, value, (one, other) => {
          const content = write(one, other);
          expect(content.subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
          expect(content.text.split(/\r?\n|\r/)).toHaveLength(plain.text.split('\n').length);
          expect(tags(content.html)).toEqual(tags(plain.html));
        }),
      );
    }
  });
});

describe('line and markup', () => {
  test('markup inserts markup unchanged, and escapes text', () => {
    expect(markup`<p>${markup`<b>${'<&>'}</b>`}${'<b>'}</p>`.html).toBe(
      '<p><b>&lt;&amp;&gt;</b>&lt;b&gt;</p>',
    );
  });

  test('a quoted attribute cannot be left', () => {
    expect(markup`<a title="${'" onclick="x'}">`.html).toBe('<a title="&quot; onclick=&quot;x">');
  });

  test('the cut of a long value leaves no half character', () => {
    const cut = line`${'\u{1f600}'.repeat(100)}`;
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).toMatch(/…$/);
    expect(line`${'a'.repeat(128)}`).toBe('a'.repeat(128));
    expect(line`${'a'.repeat(129)}`).toBe(`${'a'.repeat(127)}…`);
  });
});

import { expect, test } from '@jest/globals';
import { files, read } from '../src/repository.js';

const recipes = files('docs/recipes/*.md');

test.each(recipes)('%s quotes files that the tests run, as they are', (recipe) => {
  const quotes = [...read(recipe).matchAll(/<!-- (packages\/\S+) -->\n\n```\w+\n([\s\S]*?)```/g)];
  expect(quotes.length).toBeGreaterThan(0);
  for (const [, file, text] of quotes) expect(text).toBe(read(file!));
});

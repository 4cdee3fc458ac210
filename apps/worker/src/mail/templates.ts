import { line, markup } from './escape.js';

/** What a mail says, in both forms. */
export interface Content {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface SoldFacts {
  readonly saleId: string;
  readonly sellerName: string;
  readonly buyerName: string;
  readonly itemId: string;
  /** Whole coins. */
  readonly price: number;
}

/** Tells the seller what was sold, to whom and for how much. */
export function sold({ saleId, sellerName, buyerName, itemId, price }: SoldFacts): Content {
  const coins = price === 1 ? '1 coin' : `${price.toLocaleString('en-US')} coins`;
  const subject = line`Sold: ${itemId} for ${coins}`;
  return {
    subject,
    text: line`Hello ${sellerName},

${buyerName} bought your item ${itemId} for ${coins}.
The coins are yours already.

Sale ${saleId}
`,
    html: markup`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body>
<p>Hello ${sellerName},</p>
<p>${buyerName} bought your item <strong>${itemId}</strong> for <strong>${coins}</strong>.
The coins are yours already.</p>
<p><small>Sale ${saleId}</small></p>
</body>
</html>
`.html,
  };
}

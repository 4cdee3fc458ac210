/** The marketplace over HTTP, as a program of any language sees it. */
export interface Sale {
  readonly id: string;
  readonly itemId: string;
  readonly sellerId: string;
  readonly buyerId: string;
  readonly price: number;
  readonly taskId: string;
}

export class MarketClient {
  constructor(readonly address: string) {}

  async request<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const response = await fetch(this.address + path, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as Body };
  }

  async player(id: string, email: string, funds: number): Promise<void> {
    await this.#expect(
      `player ${id}`,
      this.request('PUT', `/v1/market/players/${id}`, { name: id, email, funds }),
    );
  }

  async offer(sellerId: string, itemId: string, price: number): Promise<string> {
    await this.#expect(
      `item ${itemId}`,
      this.request('PUT', `/v1/market/players/${sellerId}/items/${itemId}`),
    );
    const listing = this.request<{ id: string }>('POST', '/v1/market/listings', { sellerId, itemId, price });
    return (await this.#expect(`listing of ${itemId}`, listing)).id;
  }

  async buy(listingId: string, buyerId: string, expectedPrice: number): Promise<Sale> {
    const sale = this.request<Sale>('POST', `/v1/market/listings/${listingId}/purchases`, {
      buyerId,
      expectedPrice,
    });
    return this.#expect(`purchase of ${listingId}`, sale);
  }

  async #expect<Body>(what: string, reply: Promise<{ status: number; body: Body }>): Promise<Body> {
    const { status, body } = await reply;
    if (status >= 300) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

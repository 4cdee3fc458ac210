/** A page of the build: one answer to `fetch`, with a tag. */
export default async function Shop() {
  const response = await fetch(process.env.PRICES_URL, { next: { tags: ['prices'] }, cache: 'force-cache' });
  return (
    <p>
      price {await response.text()} rendered {crypto.randomUUID()}
    </p>
  );
}

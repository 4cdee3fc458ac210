/** A page of no build, fresh for a second. */
export const revalidate = 1;
export const generateStaticParams = () => [];

export default async function Offer({ params }) {
  const { item } = await params;
  return (
    <p>
      offer {item} rendered {crypto.randomUUID()}
    </p>
  );
}

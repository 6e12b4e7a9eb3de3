// The sentence with which the server refused, where the act was tried.

export function Refused({ error }: { error: string | null }) {
  if (error === null) return null;
  return (
    <p className="notice is-bad" role="alert">
      {error}
    </p>
  );
}

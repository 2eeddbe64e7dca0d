/** More rows would make the page stop; nobody reads them. */
const MAX_ROWS = 1000

/** Names and values, repetitions kept. */
export function PairTable({
  caption,
  pairs,
}: {
  caption: string
  pairs: readonly (readonly [string, string])[]
}) {
  return (
    <table className="pairs">
      <caption>{caption}</caption>
      <tbody>
        {pairs.slice(0, MAX_ROWS).map(([name, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names repeat and never change places.
          <tr key={index}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
        {pairs.length > MAX_ROWS && (
          <tr>
            <th scope="row">…</th>
            <td>{pairs.length - MAX_ROWS} more; the Raw tab has them all.</td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

/** More rows would block the page. */
const MAX_ROWS = 1000

/** A table of names and values; duplicates are allowed. */
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
          // biome-ignore lint/suspicious/noArrayIndexKey: names repeat and are never reordered.
          <tr key={index}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
        {pairs.length > MAX_ROWS && (
          <tr>
            <th scope="row">…</th>
            <td>{pairs.length - MAX_ROWS} more; see the Raw tab.</td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

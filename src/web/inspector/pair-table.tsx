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
        {pairs.map(([name, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names repeat and never change places.
          <tr key={index}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

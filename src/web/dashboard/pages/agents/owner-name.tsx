import type { AgentIdentity } from '../../../../dashboard/page-data.ts'
import { BreakableText } from '../../kit/index.ts'
import { IdLink } from '../../resource/value-view.tsx'
import { useSession } from '../../session.ts'

/** The user or bot that an agent acts for. Only administrators see the names and pages of others. */
export function OwnerName({ owner: { id, name } }: { owner: AgentIdentity['owner'] }) {
  const { role } = useSession().session
  if (role === 'admin') return <IdLink id={id} name={name || undefined} />
  return <span title={id}>{name ? <BreakableText text={name} /> : 'Another user'}</span>
}

import type { PolicyAttachment, PolicyRuleOutline } from '../../../dashboard/page-data.ts'

const PHASE_TITLES: Readonly<Record<PolicyRuleOutline['phase'], string>> = {
  on_tcp_connect: 'Connection',
  on_http_request: 'Request',
  on_http_response: 'Response',
  on_event_stream_message: 'Event stream message',
}

/** Draws the way of a request through the rules of a policy. */
export function PolicyPath({
  rules,
  attachment,
}: {
  rules: readonly PolicyRuleOutline[]
  attachment: PolicyAttachment
}) {
  const before = rules.filter(({ phase }) => phase === 'on_tcp_connect' || phase === 'on_http_request')
  const after = rules.filter((rule) => !before.includes(rule))
  return (
    <section className="policy-path" aria-label="Request path">
      <h3>Request path</h3>
      <ol>
        <li className="end">Visitor</li>
        {before.map((rule, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a rule is its position.
          <Rule key={index} rule={rule} />
        ))}
        {attachment.kind !== 'cloud' && <li className="end">Upstream</li>}
        {after.map((rule, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a rule is its position.
          <Rule key={index} rule={rule} />
        ))}
        {after.length > 0 && <li className="end">Visitor</li>}
      </ol>
    </section>
  )
}

function Rule({ rule: { phase, name, expressions, actions } }: { rule: PolicyRuleOutline }) {
  return (
    <li>
      <p>
        <small>{PHASE_TITLES[phase]}</small> <b>{name || 'Rule without a name'}</b>
      </p>
      {expressions.map((expression) => (
        <p key={expression}>
          if <code>{expression}</code>
        </p>
      ))}
      <ul>
        {actions.map(({ type, ends }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an action is its position.
          <li key={index} className={ends ? 'ends' : undefined}>
            {type}
            {ends && <small> ends here</small>}
          </li>
        ))}
      </ul>
    </li>
  )
}

import { parseHostPort } from '../../../base/values/hostport.ts'
import type { Activation, Template } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { isFieldValue } from '../../message/ascii.ts'
import { toFieldValue } from '../../message/field-values.ts'
import type { HeaderFields } from '../../message/fields.ts'
import type { RequestExecution } from '../execution.ts'
import { HeaderMap } from '../header-map.ts'
import type { Implementation } from '../implement.ts'
import { requireHeadLength } from './response.ts'

type Headers = readonly (readonly [name: string, value: Template])[]

/** Adds the fields and returns them as the action's result. */
function addTo(fields: HeaderFields, headers: Headers, activation: Activation): HeaderMap<string[]> {
  const added = new HeaderMap<string[]>()
  // Messages with very many fields would make every later look at them slow.
  activation.budget.charge(fields.size)
  for (const [name, template] of headers) {
    const text = template.evaluate(activation)
    const value = toFieldValue(text)
    if (!isFieldValue(value)) throw new PolicyFailure(`the value of ${name} cannot be sent in a header`)
    fields.add(name, value)
    added.set(name, [text])
  }
  requireHeadLength(fields.length)
  return added
}

const lowerCase = (headers: Headers): Headers =>
  headers.map(([name, value]) => [name.toLowerCase(), value] as const)

export const addHeaders: Implementation<'add-headers'> = {
  on_http_request({ headers }) {
    const others = lowerCase(headers).filter(([name]) => name !== 'host')
    const host = lowerCase(headers).find(([name]) => name === 'host')?.[1]
    return (execution) => {
      const added = addTo(execution.exchange.fields, others, execution)
      if (host !== undefined) added.set('host', [replaceHost(execution, host.evaluate(execution))])
      execution.headersChanged()
      execution.results.add_headers = { headers_added: added }
      return undefined
    }
  },
  on_http_response({ headers }) {
    const lowered = lowerCase(headers)
    return (execution) => {
      const added = addTo(execution.response.fields, lowered, execution)
      execution.headersChanged()
      execution.results.add_headers = { headers_added: added }
      return undefined
    }
  },
}

/** The upstream gets another host, and redirects to it lead back to the visitor's. */
function replaceHost({ exchange, scheme }: RequestExecution, host: string): string {
  if (parseHostPort(host) === undefined)
    throw new PolicyFailure('the value of host is not the name of a host')
  const { authority } = exchange
  exchange.authority = host
  exchange.onResponse(({ fields }) => {
    const location = fields.get('location')
    const match = location === undefined ? null : /^https?:\/\/([^/?#]+)(.*)$/is.exec(location)
    if (match?.[1]?.toLowerCase() === host.toLowerCase())
      fields.set('location', `${scheme}://${authority}${match[2] ?? ''}`)
  })
  return host
}

import { DYN, Environment, INT, mapOf, objectOf, STRING, type Type, type Variable } from '../../cel/index.ts'
import type { Action } from '../actions/define.ts'
import { actions } from '../actions/index.ts'
import type { ActionResult, Activation, EndpointSource } from '../activation.ts'
import { connectionFunctions, requestFunctions, responseFunctions } from '../functions/index.ts'
import type { PhaseName } from '../phases.ts'
import { conn } from './conn.ts'
import { req } from './req.ts'
import { res } from './res.ts'
import { fact, field } from './shape.ts'

const endpoint = objectOf({
  name: 'endpoint',
  fields: {
    addr: field(STRING, ({ addr }: EndpointSource) => addr),
    host: field(STRING, ({ host }: EndpointSource) => host),
    id: field(STRING, ({ id }: EndpointSource) => id),
    port: field(INT, ({ port }: EndpointSource) => port),
    protocol: field(STRING, ({ protocol }: EndpointSource) => protocol),
    url: field(STRING, ({ url }: EndpointSource) => url),
  },
})

const resultType = ({ resultName, results, emptyResults }: Action): Type =>
  objectOf({
    name: `actions.ngrok.${resultName}`,
    fields: Object.fromEntries(
      Object.entries(results).map(([name, type]) => [
        name,
        (emptyResults.includes(name) ? fact : field)(type, (result: ActionResult) => result[name]),
      ]),
    ),
  })

/** `actions.ngrok.…`: what actions found out, as far as they have been executed. */
const results = objectOf({
  name: 'actions.ngrok',
  fields: Object.fromEntries(
    actions.map((action) => [
      action.resultName,
      field(resultType(action), (results: Activation['results']) => results[action.resultName]),
    ]),
  ),
})

const variable = (type: Type, read: (activation: Activation) => unknown): Variable => ({ type, read })

let lastTime = { millis: Number.NaN, text: '' }

/** The same text for as long as the clock shows the same. */
function timeText(millis: number): string {
  if (lastTime.millis !== millis) lastTime = { millis, text: new Date(millis).toISOString() }
  return lastTime.text
}

const everywhere = {
  conn: variable(conn, (activation) => activation.conn),
  endpoint: variable(endpoint, (activation) => activation.endpoint),
  'time.now': variable(STRING, (activation) => timeText(activation.now())),
  vars: variable(mapOf(STRING, DYN), (activation) => activation.vars),
  actions: variable(
    objectOf({
      name: 'actions',
      fields: { ngrok: field(results, (results: Activation['results']) => results) },
    }),
    (activation) => activation.results,
  ),
}
const budgetOf = ({ budget }: Activation) => budget
const request = { ...everywhere, req: variable(req, (activation) => activation.req) }
const response = { ...request, res: variable(res, (activation) => activation.res) }

const responseEnvironment = new Environment({ variables: response, functions: responseFunctions, budgetOf })

/** What the expressions of each phase may use. */
export const environments: Readonly<Record<PhaseName, Environment>> = {
  on_tcp_connect: new Environment({ variables: everywhere, functions: connectionFunctions, budgetOf }),
  on_http_request: new Environment({ variables: request, functions: requestFunctions, budgetOf }),
  on_http_response: responseEnvironment,
  on_event_stream_message: responseEnvironment,
}

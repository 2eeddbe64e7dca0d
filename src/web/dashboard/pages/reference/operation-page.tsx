import './reference.css'
import { Fragment, type ReactNode } from 'react'
import { composeExample, type FieldRow, listFields } from '../../../../base/values/schema-fields.ts'
import { ScrollRegion } from '../../../shared/scroll-region.tsx'
import { choiceLabel } from '../../form/labels.ts'
import {
  ButtonLink,
  Card,
  type Column,
  CopyButton,
  EmptyState,
  Facts,
  LoadError,
  Loading,
  Page,
  Table,
} from '../../kit/index.ts'
import { type OpenApi, type Schema, useOpenApi } from '../../openapi.ts'
import type { PageProps } from '../../page-contracts.ts'
import { Console } from './console.tsx'
import { entriesOf, type ReferenceEntry } from './operations.ts'
import { MethodLabel } from './reference-page.tsx'

const BACK = { path: '/reference', title: 'API reference' }

/** One operation of the management API: its parameters, fields, examples and console. */
export default function OperationPage({ params }: PageProps) {
  const { document, error } = useOpenApi()
  const entry =
    document && entriesOf(document).find((each) => each.operation.operationId === params.operation)
  if (document && entry) return <OperationView document={document} entry={entry} />
  return (
    <Page title="API reference" back={BACK}>
      {error && <LoadError error={error} />}
      {!document && !error && <Loading />}
      {document && (
        <EmptyState
          title="Operation not found"
          action={<ButtonLink to="/reference">All operations</ButtonLink>}
        >
          The API has no operation {params.operation}.
        </EmptyState>
      )}
    </Page>
  )
}

function OperationView({ document, entry }: { document: OpenApi; entry: ReferenceEntry }) {
  const { method, path, operation } = entry
  const { schemas } = document.components
  const body = operation.requestBody?.content['application/json'].schema
  const [status = '', response] = Object.entries(operation.responses)[0] ?? []
  const responseSchema = response?.content?.['application/json'].schema
  const conditional = operation['x-required-role-when']
  const fieldsOf = (schema: Schema) => listFields(schema, schemas)
  return (
    <Page title={operation.summary} back={BACK}>
      <Card>
        <p className="operation-path">
          <MethodLabel method={method} /> <code>{path}</code>
        </p>
        <Facts
          entries={[
            ['Required role', choiceLabel(operation['x-required-role'])],
            [
              'Exception',
              conditional &&
                `Requires the role ${choiceLabel(conditional.role).toLowerCase()} if ${conditional.when}.`,
            ],
          ]}
        />
      </Card>
      {operation.parameters.length > 0 && (
        <FieldsCard
          title="Parameters"
          isRequest
          rows={operation.parameters.map(({ name, in: place, required = false, description, schema }) => ({
            ...listFields({ properties: { [name]: schema } }, schemas)[0]!,
            required,
            description: place === 'path' ? `In the path. ${description}` : description,
          }))}
        />
      )}
      {body && <FieldsCard title="Request body" rows={fieldsOf(body)} empty="An empty object." isRequest />}
      {body && <ExampleCard example={composeExample(body, schemas)} />}
      {responseSchema ? (
        <FieldsCard title={`Response ${status}`} rows={fieldsOf(responseSchema)} />
      ) : (
        <Card title={`Response ${status}`}>
          <p className="quiet">No body.</p>
        </Card>
      )}
      <Console key={operation.operationId} document={document} entry={entry} />
    </Page>
  )
}

function FieldsCard({
  title,
  rows,
  empty = 'No fields.',
  isRequest = false,
}: {
  title: string
  rows: readonly FieldRow[]
  empty?: string
  isRequest?: boolean
}) {
  const columns: Column<FieldRow>[] = [
    {
      title: 'Field',
      kind: 'mono',
      render: ({ path, required }) => (
        <>
          <FieldPath path={path} />
          {isRequest && required && <small className="quiet"> required</small>}
        </>
      ),
    },
    { title: 'Type', render: ({ type, limits }) => <FieldType type={type} limits={limits} /> },
    { title: 'Description', render: ({ description }) => description },
  ]
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <p className="quiet">{empty}</p>
      ) : (
        <div className="fields">
          <Table label={title} columns={columns} rows={rows} keyOf={({ path }) => path} />
        </div>
      )}
    </Card>
  )
}

/** A path that wraps after its dots and underscores, not inside a word. */
function FieldPath({ path }: { path: string }): ReactNode {
  return path.split(/(?<=[._])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one path never change their order.
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}

function FieldType({ type, limits }: { type: string; limits: readonly string[] }) {
  return (
    <>
      {type}
      {limits.length > 0 && <small className="quiet"> {limits.join(', ')}</small>}
    </>
  )
}

function ExampleCard({ example }: { example: Readonly<Record<string, unknown>> }) {
  if (Object.keys(example).length === 0) return null
  const text = JSON.stringify(example, null, 2)
  return (
    <Card title="Example request" actions={<CopyButton text={text} />}>
      <ScrollRegion label="Example request">
        <pre className="json">{text}</pre>
      </ScrollRegion>
    </Card>
  )
}

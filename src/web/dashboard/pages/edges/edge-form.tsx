import { useState } from 'react'
import { type ApiError, api } from '../../api.ts'
import { Form, Notice, TextField } from '../../kit/index.ts'
import type { Edge, EdgeKind } from '../resources.ts'
import { HostportsField } from './hostports-field.tsx'

/** Edits the description and host names of an edge. */
export function EdgeForm({
  kind,
  edge,
  onDone,
  onCancel,
}: {
  kind: EdgeKind
  edge: Edge
  onDone: () => void
  onCancel: () => void
}) {
  const [description, setDescription] = useState(edge.description)
  const [hostports, setHostports] = useState<readonly string[]>(edge.hostports ?? [])
  const path = `/edges/${kind}/${edge.id}`
  const body = { description, hostports }
  const save = async () => {
    await api.patch(path, body)
    onDone()
  }
  return (
    <Form save={save} verb="Save" onCancel={onCancel} calls={[{ method: 'PATCH', path, body }]}>
      {(error) => (
        <EdgeFields
          kind={kind}
          edgeId={edge.id}
          description={description}
          onDescription={setDescription}
          hostports={hostports}
          onHostports={setHostports}
          error={error}
        />
      )}
    </Form>
  )
}

/** The fields shared by the create and edit forms. */
export function EdgeFields({
  kind,
  edgeId,
  description,
  onDescription,
  hostports,
  onHostports,
  error,
}: {
  kind: EdgeKind
  edgeId: string | undefined
  description: string
  onDescription: (value: string) => void
  hostports: readonly string[]
  onHostports: (value: readonly string[]) => void
  error: ApiError | undefined
}) {
  const hostportsInvalid = error?.field?.startsWith('hostports')
  const descriptionInvalid = error?.field === 'description'
  return (
    <>
      <TextField
        label="Description"
        hint="Shown in lists."
        value={description}
        onValue={onDescription}
        error={descriptionInvalid ? error.message : undefined}
      />
      <HostportsField
        // The options depend on the kind of edge.
        key={kind}
        kind={kind}
        edgeId={edgeId}
        value={hostports}
        onValue={onHostports}
        error={hostportsInvalid ? error?.message : undefined}
      />
      {error && !hostportsInvalid && !descriptionInvalid && <Notice kind="bad">{error.message}</Notice>}
    </>
  )
}

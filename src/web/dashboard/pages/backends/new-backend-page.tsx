import { Card, notify, Page } from '../../kit/index.ts'
import { go } from '../../route.ts'
import { NewBackend } from './backend-form.tsx'

/** Creates a backend without assigning it to an edge. */
export default function NewBackendPage() {
  return (
    <Page
      title="New backend"
      back={{ path: '/backends', title: 'Backends' }}
      lead="Choose what serves the requests."
    >
      <Card>
        <NewBackend
          onCancel={() => go('/backends')}
          onDone={({ id }) => {
            notify('Created.')
            go(`/backends/${id}`, { replace: true })
          }}
        />
      </Card>
    </Page>
  )
}

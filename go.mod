module superpipeline.dev/question-bridge

go 1.26

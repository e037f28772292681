-- Stores people that a question is limited to, by their internal ids.
INSERT INTO insight_members (question_id, user_id)
SELECT {question:UUID}, toFixedString(unhex(arrayJoin({users:Array(String)})), 12)

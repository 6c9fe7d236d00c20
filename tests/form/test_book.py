"""The sources of the book: every link and anchor leads somewhere, every cell has been run."""

from assemble import Course


def test_the_course_itself_has_nothing_wrong():
    course = Course()
    assert not course.wrong, "\n".join(course.wrong)
    assert len(course.pages) >= 1 + 4 * 15
    assert all(page.headings and page.links for page in course.notebooks())
